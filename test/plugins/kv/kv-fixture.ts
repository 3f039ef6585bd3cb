import type { Answer, Client } from '../../support/client.ts'
import type { TestServer } from '../../support/start-server.ts'

let made = 0

/** A new mount of this version; returns its path. */
export async function newMount(
  { root }: Pick<TestServer, 'root'>,
  version: 1 | 2,
  config: object = {},
): Promise<string> {
  const path = `kv${++made}`
  await root.write(`sys/mounts/${path}`, { type: 'kv', options: { version: String(version) } })
  if (Object.keys(config).length > 0) await root.write(`${path}/config`, config)
  return path
}

const patchType = { 'Content-Type': 'application/merge-patch+json' }

export const patch = (client: Client, path: string, body: unknown): Promise<Answer> =>
  client.call('PATCH', path, body, { headers: patchType })

/** Writes versions of a key; returns the last response. */
export async function put(client: Client, path: string, ...versions: unknown[]): Promise<Answer> {
  let last: Answer | undefined
  for (const data of versions) last = await client.write(path, { data })
  if (last === undefined) throw new Error('nothing was written')
  return last
}

/** A client whose token has these capabilities: path to words. */
export async function holder(
  server: Pick<TestServer, 'root' | 'as'>,
  rules: Readonly<Record<string, string>>,
  more = '',
): Promise<Client> {
  const name = `p${++made}`
  const policy = Object.entries(rules)
    .map(([path, words]) => `path "${path}" { capabilities = ${JSON.stringify(words.split(' '))} ${more} }`)
    .join('\n')
  await server.root.write(`sys/policies/acl/${name}`, { policy })
  const token = await server.root.write('auth/token/create', { policies: [name], no_default_policy: true })
  return server.as(String(token.body.auth?.client_token))
}

/** The warning about a path of another version. */
export const invalidPath = (command: string) =>
  `Invalid path for a versioned K/V secrets engine. See the API docs for the appropriate API endpoints to use. If using the Vault CLI, use 'vault kv ${command}' for this operation.`
