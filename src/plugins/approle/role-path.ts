/** The name of a role, which has one spelling. docs/contract/approle.md#roles */
export const roleName = ({ role_name }: { role_name: string }): string => role_name.toLowerCase()

/** A path below the mount with its role in lower case. */
export const canonicalRolePath = (below: string): string =>
  below.replace(/^role\/[^/]+/, (start) => start.toLowerCase())
