import { join } from 'node:path'
import { startOtherServer } from '../../bench/other-server.ts'
import { Client } from '../support/client.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { pythonPrograms } from './bao.ts'

export type OpenBao = AsyncDisposable & {
  readonly url: string
  readonly rootToken: string
  readonly root: Client
  readonly anonymous: Client
}

const configuration = `
listener "tcp" {
  address     = "127.0.0.1:$PORT"
  tls_disable = true
}
storage "inmem" {}
api_addr             = "http://127.0.0.1:$PORT"
disable_mlock        = true
raw_storage_endpoint = true
`

/** A real OpenBao in memory, whose raw storage its root token may read. */
export async function startOpenBao(): Promise<OpenBao> {
  await using stack = new AsyncDisposableStack()
  const folder = stack.use(await temporaryFolder())
  const program = join(pythonPrograms, 'bao')
  const command =
    `cat >"$FOLDER/server.hcl" <<END${configuration}END\n` +
    `exec ${program} server "-config=$FOLDER/server.hcl" -log-level=error`
  const { url, rootToken } = stack.use(await startOtherServer({ command, folder: folder.path }))
  const held = stack.move()
  const anonymous = new Client(url)
  return {
    url,
    rootToken,
    anonymous,
    root: anonymous.with(rootToken),
    [Symbol.asyncDispose]: () => held.disposeAsync(),
  }
}
