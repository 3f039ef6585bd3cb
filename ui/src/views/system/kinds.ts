export type Kind = 'secrets' | 'logins'

/** Where calls and policies name a mount. */
export const callPath = (kind: Kind, path: string): string =>
  `${kind === 'secrets' ? 'sys/mounts/' : 'sys/auth/'}${path.replace(/\/$/, '')}`
