import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { Agent, request } from 'node:https'
import { text } from 'node:stream/consumers'
import type { Directory } from '../../simulators/directory/directory.ts'
import { host, listen, stop } from '../../simulators/loopback.ts'

export type Administrator = AsyncDisposable & {
  /** `AZ_URL` of the stand-in for `az`. */
  readonly url: string
  /** Makes an application trust what is in the parameters of `az ad app federated-credential create`. */
  trust(clientId: string, parameters: Json): Promise<unknown>
}

type Outside = {
  /** What the cluster calls itself, for `az aks show`. */
  readonly clusterIssuer?: string
  /** A GET request to `url`, for what else is outside. */
  readonly get?: (url: URL) => Promise<string>
}

type Command = {
  /** `ad app show`. */
  readonly name: string
  /** The value of a flag; throws without one. */
  flag(name: string): string
  has(name: string): boolean
}

type Json = Readonly<Record<string, unknown>>

/**
 * An administrator of the tenant, who does what `az` is asked for, as `az` does it: by requests to the directory.
 * Throws at a command that our pages and responses do not use.
 */
export async function startAdministrator(
  directory: Directory,
  outside: Outside = {},
): Promise<Administrator> {
  const agent = new Agent({ ca: directory.ca, keepAlive: true })
  const send = sender(directory, agent)
  const act = actsOf(directory, { send, outside })
  const answer = async (sent: IncomingMessage): Promise<string> => {
    if (sent.method === 'GET' && outside.get !== undefined)
      return outside.get(new URL(sent.url ?? '', 'http://outside'))
    const command = commandOf(JSON.parse(await text(sent)) as string[])
    const perform = act[command.name]
    if (perform === undefined) throw new Error(`not a command of our pages: az ${command.name}`)
    return shown(await perform(command), command)
  }
  const server = createServer((sent: IncomingMessage, response: ServerResponse) => {
    answer(sent).then(
      (body) => response.end(body),
      (error: unknown) => response.writeHead(500).end(String(error)),
    )
  })
  const url = `http://${host}:${await listen(server, 0)}`
  return {
    url,
    trust: (clientId, parameters) => send('POST', trustsOf(clientId), parameters),
    [Symbol.asyncDispose]: async () => {
      await stop(server)
      agent.destroy()
    },
  }
}

function commandOf(words: readonly string[]): Command {
  const first = words.findIndex((word) => word.startsWith('-'))
  const name = words.slice(0, first === -1 ? undefined : first).join(' ')
  return {
    name,
    has: (flag) => words.includes(flag),
    flag: (flag) => {
      const value = words[words.indexOf(flag) + 1]
      if (!words.includes(flag) || value === undefined) throw new Error(`az ${name} has no ${flag}`)
      return value
    },
  }
}

type Act = (command: Command) => Promise<unknown>

type Send = (method: string, path: string, body?: unknown) => Promise<Json>

/** Sends requests to the directory, with the rights of the root. */
function sender(directory: Directory, agent: Agent): Send {
  let token: Promise<string> | undefined
  /** An identity with the rights of the root, which stays when the root loses its secret. */
  const signIn = async (): Promise<string> => {
    const { clientId } = directory.userAssignedIdentities[1]
    const query = `api-version=2018-02-01&resource=${directory.directoryUrl}&client_id=${clientId}`
    const answer = await fetch(`${directory.metadataUrl}/metadata/identity/oauth2/token?${query}`, {
      headers: { metadata: 'true' },
    })
    return String(((await answer.json()) as Json)['access_token'])
  }
  const send = async (method: string, path: string, body?: unknown, isAgain = false): Promise<Json> => {
    token ??= signIn()
    const bearer = { authorization: `Bearer ${await token}`, 'content-type': 'application/json' }
    const sent = body === undefined ? undefined : JSON.stringify(body)
    const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>()
    request(`${directory.directoryUrl}/v1.0/${path}`, { method, agent, headers: bearer }, resolve)
      .on('error', reject)
      .end(sent)
    const answer = await promise
    const told = await text(answer)
    if (answer.statusCode === 401 && !isAgain) {
      token = undefined
      return send(method, path, body, true)
    }
    if ((answer.statusCode ?? 500) >= 300) throw new Error(told)
    return told === '' ? {} : (JSON.parse(told) as Json)
  }
  return (method, path, body) => send(method, path, body)
}

const trustsOf = (clientId: string): string =>
  `applications(appId='${clientId}')/federatedIdentityCredentials`

function actsOf(
  directory: Directory,
  { send, outside }: { readonly send: Send; readonly outside: Outside },
): Readonly<Record<string, Act>> {
  const application = ({ flag }: Command) => `applications(appId='${flag('--id')}')`
  const trusts = ({ flag }: Command) => trustsOf(flag('--id'))
  const objectOf = async (command: Command) =>
    `applications/${String((await send('GET', application(command)))['id'])}`
  return {
    'ad app show': (command) => send('GET', application(command)),
    'ad sp show': ({ flag }) => send('GET', `servicePrincipals(appId='${flag('--id')}')`),
    'ad app federated-credential create': (command) =>
      send('POST', trusts(command), JSON.parse(command.flag('--parameters'))),
    'ad app federated-credential list': async (command) => (await send('GET', trusts(command)))['value'],
    'ad app federated-credential delete': (command) =>
      send('DELETE', `${trusts(command)}/${command.flag('--federated-credential-id')}`),
    'ad app credential list': async (command) =>
      (await send('GET', application(command)))['passwordCredentials'],
    'ad app credential delete': async (command) =>
      send('POST', `${await objectOf(command)}/removePassword`, { keyId: command.flag('--key-id') }),
    'ad app credential reset': async (command) => {
      if (!command.has('--append')) throw new Error('this would remove all other credentials')
      const path = await objectOf(command)
      const { keyCredentials: kept } = await send('GET', path)
      const key = Buffer.from(pemBody(command.flag('--cert')), 'base64').toString('base64')
      const added = { type: 'AsymmetricX509Cert', usage: 'Verify', key, displayName: 'of the administrator' }
      return send('PATCH', path, { keyCredentials: [...(kept as Json[]), added] })
    },
    'aks show': async () => ({ oidcIssuerProfile: { issuerUrl: outside.clusterIssuer } }),
    'identity list': async () =>
      directory.userAssignedIdentities.map(({ clientId }, index) => ({
        name: `identity-${index}`,
        clientId,
      })),
    'vm identity assign': async ({ flag }) => {
      flag('--resource-group')
      flag('--name')
      directory.change({ metadata: { systemAssigned: true } })
      return { systemAssignedIdentity: directory.systemAssignedIdentity.servicePrincipalId }
    },
    rest: ({ flag }) => {
      const { pathname } = new URL(flag('--url'))
      return send(flag('--method').toUpperCase(), pathname.slice('/v1.0/'.length), JSON.parse(flag('--body')))
    },
    'role assignment create': async ({ flag }) => {
      for (const each of ['--assignee-object-id', '--assignee-principal-type', '--role', '--scope'])
        flag(each)
      // the identities of the machine are owners of the subscription already
      return {}
    },
  }
}

const pemBody = (pem: string): string => /-----BEGIN CERTIFICATE-----([\s\S]+?)-----END/.exec(pem)?.[1] ?? ''

/** What `az` prints: JSON, or with `--output tsv` the texts that `--query` chooses. */
function shown(result: unknown, command: Command): string {
  const chosen = command.has('--query') ? chosenBy(command.flag('--query'), result) : result
  const isPlain = ['--output', '-o'].some((flag) => command.has(flag) && command.flag(flag) === 'tsv')
  if (!isPlain) return `${JSON.stringify(chosen, null, 2)}\n`
  return [chosen]
    .flat()
    .map((row) => `${[row].flat().join('\t')}\n`)
    .join('')
}

const member = (value: unknown, path: string): unknown =>
  path.split('.').reduce<unknown>((found, name) => (found as Json | undefined)?.[name], value)

/** The part of JMESPath that our commands use: `a.b`, `[].[a, b]`, `` [?a==`"x"` && b==`"y"`].c ``. */
function chosenBy(query: string, value: unknown): unknown {
  const [, filter, names] = /^\[(?:\?(.+))?\]\.(?:\[(.+)\]|\w+)$/.exec(query) ?? []
  if (!query.startsWith('[')) return member(value, query)
  const conditions = (filter ?? '').matchAll(/(\w+)==`("(?:[^"\\]|\\.)*")`/g)
  const wanted = [...conditions].map(([, name = '', text = '']) => [name, JSON.parse(text)] as const)
  const rows = (value as Json[]).filter((row) => wanted.every(([name, text]) => row[name] === text))
  if (names !== undefined) return rows.map((row) => names.split(/, */).map((name) => row[name]))
  return rows.map((row) => member(row, query.slice(query.lastIndexOf('.') + 1)))
}
