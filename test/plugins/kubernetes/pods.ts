import { type Cluster, type ClusterOptions, startCluster } from '../../../simulators/cluster/cluster.ts'
import { borrowServer } from '../../support/borrowed-server.ts'
import type { Answer, Client, Json } from '../../support/client.ts'
import { serversInTurn } from '../../support/of-one-server.ts'
import type { TestServer, TestServerOptions } from '../../support/start-server.ts'

/** A server and a cluster; each test has a mount of its own. */
export type Pods = AsyncDisposable & {
  readonly server: TestServer
  readonly cluster: Cluster
  /** A new mount for the cluster, with the role `r` for `dev/web`. */
  mount(config?: object): Promise<PodMount>
}

export async function startPods(
  options: TestServerOptions & { cluster?: ClusterOptions } = {},
): Promise<Pods> {
  const { cluster: ofCluster, ...ofServer } = options
  const [server, cluster] = await Promise.all([borrowServer(ofServer), startCluster(ofCluster)])
  let mounts = 0
  return {
    server,
    cluster,
    mount: async (config = {}) => {
      const path = `auth/pods${++mounts}`
      await server.root.write(`sys/${path}`, { type: 'kubernetes' })
      const mount = new PodMount({ server, cluster, path })
      await mount.config(config)
      await mount.role('r')
      return mount
    },
    [Symbol.asyncDispose]: async () => {
      await server[Symbol.asyncDispose]()
      await cluster[Symbol.asyncDispose]()
    },
  }
}

export const names = 'bound_service_account_names'
export const namespaces = 'bound_service_account_namespaces'
export const selector = 'bound_service_account_namespace_selector'

/** One mount, as its administrator and its pods see it. */
export class PodMount {
  readonly path: string
  readonly #server: TestServer
  readonly #cluster: Cluster

  constructor({ server, cluster, path }: { server: TestServer; cluster: Cluster; path: string }) {
    this.#server = server
    this.#cluster = cluster
    this.path = path
  }

  get root(): Client {
    return this.#server.root
  }

  /** Replaces the configuration. */
  config(fields: object = {}): Promise<Answer> {
    const { url, caPem, reviewer } = this.#cluster
    return this.root.write(`${this.path}/config`, {
      kubernetes_host: url,
      kubernetes_ca_cert: caPem,
      token_reviewer_jwt: reviewer,
      disable_local_ca_jwt: true,
      ...fields,
    })
  }

  role(name: string, fields: object = {}): Promise<Answer> {
    return this.root.write(`${this.path}/role/${name}`, {
      [names]: ['web'],
      [namespaces]: ['dev'],
      audience: this.#cluster.issuer,
      ...fields,
    })
  }

  /** By default with a new token of `dev/web`. */
  async login({ role = 'r', jwt }: { role?: string; jwt?: string } = {}): Promise<Answer> {
    return this.#server.anonymous.write(`${this.path}/login`, {
      role,
      jwt: jwt ?? (await this.#cluster.token()),
    })
  }

  /** What the operator learns of the newest refusal, which is then forgotten. Each server knows of its own. */
  async lastFailure(): Promise<Json> {
    const path = `${this.path}/failures`
    const found: Json[] = []
    for (let asked = 0; asked < serversInTurn; asked++) {
      const { body } = await this.root.read(path)
      found.push(...((body.data?.['failures'] ?? []) as unknown as Json[]))
    }
    for (let asked = 0; asked < serversInTurn; asked++) await this.root.delete(path)
    return found[0] ?? {}
  }
}

/** A status and the text of a refusal, without the list form of causes; `ok` for another response. */
export function told({ status, body }: Answer): string {
  const [text] = ((body as Json | undefined)?.errors as unknown as string[] | undefined) ?? []
  return `${status} ${status < 400 ? 'ok' : (text ?? '').replace(/^1 error occurred:\n\t\* (.*)\n\n$/s, '$1')}`
}
