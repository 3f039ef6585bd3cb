import { unknownAuthority } from '../../../core/outbound/outbound-cause.ts'

/** A field with a URL to fetch from, as the operator wrote it. */
export type FetchedField = {
  readonly name: 'oidc_discovery_url' | 'jwks_url'
  readonly url: string
  readonly caField: 'oidc_discovery_ca_pem' | 'jwks_ca_pem'
  readonly caPem: string
}

/** Why a configured URL cannot be fetched, with advice for common mistakes. */
export function withAdvice(problem: string, field: FetchedField): string {
  const advice = advices.map((advise) => advise(field, problem)).find((found) => found !== undefined)
  return advice === undefined ? problem : `${problem}: ${advice}`
}

type Advise = (field: FetchedField, problem: string) => string | undefined

/** The first one that applies is used. */
const advices: readonly Advise[] = [
  ({ name, url }) => (/^[\s"'`]|[\s"'`]$/.test(url) ? `take the blanks and quotes off ${name}` : undefined),
  ({ name, url }) => (/^https?:\/\//i.test(url) ? undefined : `${name} begins with https://`),
  ({ name, url }) =>
    /[{<][^/{}<>]*[}>]|%7B|\$\w/i.test(url.slice(0, maxUrl))
      ? `replace the placeholder in ${name}`
      : undefined,
  (_field, problem) =>
    problem.includes('{tenantid}')
      ? 'this address is of all tenants: write the id of yours in place of common, organizations or consumers'
      : undefined,
  ({ name, url }, problem) => {
    const said = /, discovery says "([^"]*)"$/.exec(problem)?.[1]
    if (said === undefined) return undefined
    if (said === `${url}/`) return `${name} lacks the slash at its end`
    return url === `${said}/`
      ? `${name} has a slash too many at its end`
      : `write ${name} as the provider does`
  },
  ({ caField, caPem }, problem) => {
    if (!problem.includes(unknownAuthority)) return undefined
    return caPem === ''
      ? `put the provider's authority into ${caField}`
      : `no certificate in ${caField} is the provider's authority`
  },
]

const maxUrl = 2048
