/** Where a PostgreSQL database is, as in `postgres://user@host[:port][,host…]/database[?sslmode=]`. */
export type PostgresAddress = {
  /** In the order in which they are tried. A host that begins with `/` is a folder with a socket. */
  readonly hosts: readonly { readonly host: string; readonly port: number }[]
  readonly user: string
  readonly database: string
  /** As libpq defines it. Default: `verify-full`, except on loopback and a socket. */
  readonly sslmode: (typeof sslModes)[number] | undefined
}

const sslModes = ['disable', 'require', 'verify-ca', 'verify-full'] as const
const defaultPort = 5432

const form =
  /^postgres(?:ql)?:\/\/(?<user>[^:@/?#]+)(?<password>:[^@/?#]*)?@(?<hosts>[^@/?#]+)\/(?<database>[^/?#]+)(?:\?(?<query>[^#]*))?$/

/** The address, or what is wrong with it. No text of the URL is repeated: it may contain a password. */
export function parsePostgresUrl(url: string): PostgresAddress | string {
  const { user, password, hosts, database, query } = form.exec(url)?.groups ?? {}
  if (user === undefined || hosts === undefined || database === undefined)
    return 'must be like postgres://user@host:5432/database'
  if (password !== undefined)
    return 'must not contain a password: other users of this machine could read it; set GATEHOUSE_STORAGE_PASSWORD_FILE'
  const parsed = hosts.split(',').map(parseHost)
  if (!parsed.every((host) => host !== undefined)) return 'has an invalid host or port'
  const options = new URLSearchParams(query)
  const unknown = [...options.keys()].filter((name) => name !== 'sslmode')
  if (unknown.length > 0) return 'accepts no parameter but sslmode'
  const given = options.get('sslmode')
  const sslmode = sslModes.find((mode) => mode === given)
  if (given !== null && sslmode === undefined) return `sslmode must be one of ${sslModes.join(', ')}`
  try {
    return { hosts: parsed, user: decodeURIComponent(user), database: decodeURIComponent(database), sslmode }
  } catch {
    return 'is not well-formed: write special characters as %XX'
  }
}

/** The address as text, without parameters. */
export const postgresName = ({ hosts, user, database }: PostgresAddress): string =>
  `postgres://${user}@${hosts.map(({ host, port }) => `${host.includes(':') ? `[${host}]` : host}:${port}`).join(',')}/${database}`

function parseHost(text: string): { host: string; port: number } | undefined {
  const match = /^(?:\[(?<six>[0-9a-fA-F:.]+)\]|(?<name>[^:[\]]+))(?::(?<port>\d{1,5}))?$/.exec(text)
  const { six, name = '', port } = match?.groups ?? {}
  if (match === null || Number(port ?? 1) > 65_535 || Number(port ?? 1) === 0) return undefined
  try {
    return { host: six ?? decodeURIComponent(name), port: Number(port ?? defaultPort) }
  } catch {
    return undefined
  }
}
