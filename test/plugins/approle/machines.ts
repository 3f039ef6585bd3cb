import type { Answer, Client, Json } from '../../support/client.ts'
import { startTestServer, type TestServer, type TestServerOptions } from '../../support/start-server.ts'

type Pair = { readonly roleId: string; readonly secretId?: string }

/** A server on which each test has a mount of type `approle` of its own. */
export type Machines = AsyncDisposable & {
  readonly server: TestServer
  /** A new mount. */
  mount(): Promise<AppRole>
}

export async function startMachines(options: TestServerOptions = {}): Promise<Machines> {
  const server = await startTestServer(options)
  let mounts = 0
  return {
    server,
    mount: async () => {
      const path = `auth/machines${++mounts}`
      await server.root.write(`sys/${path}`, { type: 'approle' })
      return new AppRole(server.root, server.anonymous, path)
    },
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  }
}

/** One mount, as its administrator and its machines see it. */
class AppRole {
  readonly path: string
  readonly #root: Client
  readonly #anonymous: Client

  constructor(root: Client, anonymous: Client, path: string) {
    this.path = path
    this.#root = root
    this.#anonymous = anonymous
  }

  /** Writes a role with the role id `<name>-id`. */
  async role(name: string, fields: object = {}): Promise<Answer> {
    return this.at(`role/${name}`).write({ role_id: `${name}-id`, ...fields })
  }

  /** One path below the mount. */
  at(below: string) {
    const path = `${this.path}/${below}`
    return {
      read: () => this.#root.read(path),
      list: () => this.#root.list(path),
      write: (body: object = {}) => this.#root.write(path, body),
      delete: () => this.#root.delete(path),
    }
  }

  /** A new secret id; the role must exist. */
  async secretId(role: string, fields: object = {}): Promise<{ secretId: string; accessor: string }> {
    const { body, text } = await this.at(`role/${role}/secret-id`).write(fields)
    if (body.data === undefined || body.data === null) throw new Error(text)
    return { secretId: String(body.data['secret_id']), accessor: String(body.data['secret_id_accessor']) }
  }

  login({ roleId, secretId }: Pair, through = this.#anonymous): Promise<Answer> {
    return through.write(`${this.path}/login`, {
      role_id: roleId,
      ...(secretId === undefined ? {} : { secret_id: secretId }),
    })
  }
}

/** The text of a refusal, without the list form of causes; `ok` for another response. */
function verdict({ body, status }: Answer): string {
  const [text] = ((body as Json | undefined)?.errors as unknown as string[] | undefined) ?? []
  return status < 400 ? 'ok' : (text ?? '').replace(/^1 error occurred:\n\t\* (.*)\n\n$/s, '$1')
}

/** A status and the text of a refusal. */
export const told = (answer: Answer) => `${answer.status} ${verdict(answer)}`
