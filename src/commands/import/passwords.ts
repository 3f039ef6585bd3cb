import { createHash } from 'node:crypto'
import { z } from 'zod'
import { parsedJson } from '../../lib/text/json.ts'
import { RefusedRequest, type RemoteServer } from './remote-server.ts'

const namespaceShape = z.object({ uuid: z.string() })
const rawShape = z.object({ value: z.string() })
const userShape = z.object({ PasswordHash: z.base64().min(1) })
const hashForm = /^\$2[aby]\$\d\d\$[./A-Za-z0-9]{53}$/

type Place = { readonly from: RemoteServer; readonly namespace: string }

const notShown = 'the source does not show its hash: it needs raw_storage_endpoint = true, and a root token'

/**
 * The bcrypt hashes of users of `userpass`, read from the raw storage of Vault or OpenBao. No hash is in a message, and
 * none is kept: only digests of those that were written.
 */
export class Passwords {
  readonly #written = new Map<string, string>()

  /** `mount` is the `uuid` of the login method. Throws a `RefusedRequest` if the source does not show it. */
  async hashOf({ from, namespace }: Place, mount: string, user: string): Promise<string> {
    const root = from.in('')
    const folder = await folderOf(from, namespace)
    const raw = await root.read(`sys/raw/${folder}auth/${mount}/user/${user}`)
    const { data } = userShape.safeParse(parsedJson(rawShape.safeParse(raw).data?.value ?? ''))
    if (data === undefined) throw new RefusedRequest(0, notShown)
    const hash = Buffer.from(data.PasswordHash, 'base64').toString('latin1')
    if (!hashForm.test(hash)) throw new RefusedRequest(0, 'the source has no bcrypt hash of it')
    return hash
  }

  /** Whether this process has written the hash to the target. */
  isWritten(path: string, hash: string): boolean {
    return this.#written.get(path) === digestOf(hash)
  }

  wrote(path: string, hash: string): void {
    this.#written.set(path, digestOf(hash))
  }
}

/** OpenBao keeps each namespace below its own folder. */
async function folderOf(from: RemoteServer, namespace: string): Promise<string> {
  if (namespace === '') return ''
  const names = namespace.slice(0, -1).split('/')
  const name = names.pop()
  const parent = from.in(names.map((one) => `${one}/`).join(''))
  const { data } = namespaceShape.safeParse(await parent.read(`sys/namespaces/${name}`))
  return data === undefined ? '' : `namespaces/${data.uuid}/`
}

const digestOf = (hash: string): string => createHash('sha256').update(hash).digest('base64')
