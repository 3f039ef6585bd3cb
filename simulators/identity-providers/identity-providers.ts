import { Google } from './google.ts'
import { Graph } from './graph.ts'
import { type Handler, type Hosts, startHosts } from './hosts.ts'
import { Okta } from './okta.ts'

export type IdentityProviders = {
  readonly hosts: Hosts
  readonly graph: Graph
  readonly google: Google
  readonly okta: Okta
} & AsyncDisposable

/** Microsoft Graph, Google and Okta on loopback, under their own names behind one proxy. */
export async function startIdentityProviders({
  now = Date.now,
}: {
  now?: () => number
} = {}): Promise<IdentityProviders> {
  const graph = new Graph()
  const google = new Google(now)
  const okta = new Okta()
  const handlers = new Map<string, Handler>([
    ['graph.microsoft.com', graph.handle],
    ['graph.microsoft.us', graph.handle],
    ['oauth2.googleapis.com', google.token],
    ['iamcredentials.googleapis.com', google.credentials],
    ['admin.googleapis.com', google.directory],
    ['example.okta.com', okta.handle],
  ])
  const hosts = await startHosts(handlers, okta.handle)
  return { hosts, graph, google, okta, [Symbol.asyncDispose]: () => hosts[Symbol.asyncDispose]() }
}
