import { randomUUID } from 'node:crypto'
import { EventEmitter, once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import type { TLSSocket } from 'node:tls'
import { makeSigningKeys, type SigningKeys } from '../ci-issuer/signing-keys.ts'
import { answerWrongly, type Trouble } from '../ci-issuer/trouble.ts'
import { host, listen, stop } from '../loopback.ts'
import { type Answer, type Asked, answerApi, reviewsPath } from './api.ts'
import { authority, otherTls, tls } from './certificates.ts'
import { Objects } from './objects.ts'
import { projectedClaims, secretClaims, signClaims, type TokenOptions } from './tokens.ts'

export type ClusterOptions = {
  /** Default 0: a free port. */
  readonly port?: number
  /** Serve HTTP. */
  readonly isPlain?: boolean
}

/** A fault of an answer: of a review or, with `path`, of the requests whose path begins with it. */
type ClusterTrouble =
  | Trouble
  | { readonly kind: 'answer'; readonly answer: Answer | ((asked: Asked) => Answer) }

/** A stand-in for a Kubernetes API server on loopback: reviews of tokens, namespaces, service accounts and keys. */
export interface Cluster extends AsyncDisposable {
  readonly url: string
  /** Its authority, PEM. */
  readonly caPem: string
  /** The `iss` of its tokens, and its own audience. */
  readonly issuer: string
  /** A bearer that may review tokens, and read namespaces and service accounts. */
  readonly reviewer: string
  readonly objects: Objects
  readonly keys: SigningKeys
  /** Every request so far. */
  readonly requests: Asked[]
  /** Resolves once there were so many requests. */
  asked(count: number): Promise<void>
  /** The most requests that it had at once. */
  readonly most: number
  /** The connections that are open. */
  readonly connections: number
  /** A token as a pod of this account has it; `uid` names another account. */
  token(namespace?: string, name?: string, options?: TokenOptions): Promise<string>
  /** The token of a secret: without times and audience. */
  secretToken(namespace?: string, name?: string, options?: TokenOptions): Promise<string>
  /** The public key that verifies its tokens, PEM. */
  publicKeyPem(): string
  misbehave(trouble: ClusterTrouble, path?: string): void
  behave(): void
  /** From now on, its certificate is of another authority, or of the own one again. */
  useOtherAuthority(isOther: boolean): void
  /** As an old server: audiences of a review are not looked at. */
  ignoreAudiences(isIgnored: boolean): void
  /** Connections are refused until `comeBack`, which listens on the same port. */
  goDown(): Promise<void>
  comeBack(): Promise<void>
}

const issuer = 'https://kubernetes.default.svc.cluster.local'

/** Starts a cluster with the accounts `web` and `job` in the namespaces `dev` and `prod`. */
export async function startCluster({
  port: wanted = 0,
  isPlain = false,
}: ClusterOptions = {}): Promise<Cluster> {
  const keys = await makeSigningKeys(['RS256', 'PS256', 'ES256', 'EdDSA'])
  const objects = new Objects()
  const reviewer = `reviewer-${randomUUID()}`
  objects.rights.set(reviewer, new Set(['review', 'namespaces', 'accounts']))
  for (const namespace of ['dev', 'prod']) {
    objects.labels.set(namespace, { team: 'a', env: namespace })
    for (const name of ['web', 'job']) objects.createAccount(namespace, name)
  }
  const requests: Asked[] = []
  const arrivals = new EventEmitter()
  const troubles = new Map<string, ClusterTrouble>()
  const closing = new AbortController()
  let ignoresAudiences = false
  let running = 0
  let most = 0
  const tlsServer = isPlain ? undefined : createTlsServer(tls, (...both) => void answer(...both))
  const server = tlsServer ?? createServer((...both) => void answer(...both))
  const sockets = new Set<TLSSocket | object>()
  server.on(isPlain ? 'connection' : 'secureConnection', (socket: TLSSocket) => {
    sockets.add(socket)
    socket.on('close', () => sockets.delete(socket))
  })
  let port = await listen(server, wanted)
  const url = `${isPlain ? 'http' : 'https'}://${host}:${port}`

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    running += 1
    most = Math.max(most, running)
    response.on('close', () => {
      running -= 1
    })
    const path = request.url ?? '/'
    const bearer = (request.headers.authorization ?? '').replace(/^Bearer /, '')
    const asked = { method: request.method ?? '', path, bearer, body: await jsonOf(request) }
    requests.push(asked)
    arrivals.emit('request')
    // a base path is not looked at
    const below = { ...asked, path: path.replace(/^\/base(?=\/)/, '') }
    const trouble = [...troubles].find(([start]) => below.path.startsWith(start))?.[1]
    if (trouble?.kind === 'answer') {
      const given = typeof trouble.answer === 'function' ? trouble.answer(asked) : trouble.answer
      return send(given, response)
    }
    const right = await answerApi(below, {
      objects,
      keys,
      issuer,
      url,
      audiences: [issuer],
      ignoresAudiences,
      request: tokenFor,
    })
    if (trouble === undefined) return send(right, response)
    answerWrongly({ trouble, request, response, body: { ...right.body }, signal: closing.signal })
  }

  const ownerOf = (namespace: string, name: string, uid?: string) => ({
    namespace,
    name,
    uid: uid ?? objects.account(namespace, name)?.uid ?? '',
  })

  const tokenFor = (namespace: string, name: string, lifetime: number, audiences: readonly string[]) =>
    token(namespace, name, { lifetime, audiences })

  function token(namespace = 'dev', name = 'web', options: TokenOptions = {}): Promise<string> {
    const { uid, lifetime = 3600, audiences = [issuer], claims } = options
    const now = Math.floor(Date.now() / 1000)
    const made = projectedClaims(ownerOf(namespace, name, uid), { issuer, now, lifetime, audiences })
    return signClaims(keys, { ...made, ...claims }, options)
  }

  return {
    url,
    caPem: authority,
    issuer,
    reviewer,
    objects,
    keys,
    requests,
    asked: async (count) => {
      while (requests.length < count) await once(arrivals, 'request')
    },
    get most() {
      return most
    },
    get connections() {
      return sockets.size
    },
    token,
    secretToken: (namespace = 'dev', name = 'web', options = {}) =>
      signClaims(
        keys,
        { ...secretClaims(ownerOf(namespace, name, options.uid)), ...options.claims },
        options,
      ),
    publicKeyPem: () => keys.current('RS256').publicKey.export({ type: 'spki', format: 'pem' }).toString(),
    misbehave: (trouble, path = reviewsPath) => void troubles.set(path, trouble),
    behave: () => troubles.clear(),
    useOtherAuthority: (isOther) => {
      tlsServer?.setSecureContext(isOther ? otherTls : tls)
      tlsServer?.closeAllConnections()
    },
    ignoreAudiences: (isIgnored) => {
      ignoresAudiences = isIgnored
    },
    goDown: () => stop(server),
    comeBack: async () => {
      port = await listen(server, port)
    },
    [Symbol.asyncDispose]: async () => {
      closing.abort()
      await stop(server)
    },
  }
}

function send({ status, body }: Answer, response: ServerResponse): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
}

async function jsonOf(request: IncomingMessage): Promise<unknown> {
  const chunks: Buffer[] = []
  // without an encoding set, a request gives buffers
  for await (const chunk of request) chunks.push(chunk as Buffer)
  const text = Buffer.concat(chunks).toString('utf8')
  try {
    return text === '' ? undefined : JSON.parse(text)
  } catch {
    return undefined
  }
}
