import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { getCACertificates, setDefaultCACertificates } from 'node:tls'
import { startIssuer } from '../ci-issuer/issuer.ts'
import { startDirectory } from '../directory/start-directory.ts'
import { makeTemporaryFolder } from '../exit.ts'
import { send, sendSuccessfully } from '../operator.ts'
import { startServerProcess } from '../server-process.ts'
import { cloudEnvironment } from '../tour/credentials.ts'
import { announcements } from './announcements.ts'
import { cloudCredentials } from './cloud.ts'
import type { Operator } from './operator.ts'
import { people, startStaffProvider } from './people.ts'
import { pipelines } from './pipelines.ts'
import { sampleSecrets } from './secrets.ts'
import { tenants } from './tenants.ts'

export type Sample = AsyncDisposable & { readonly url: string }

/** A server with content for every view of the web UI: two tenants, people, jobs, secrets and announcements. */
export async function startSample(): Promise<Sample> {
  await using stack = new AsyncDisposableStack()
  const folder = stack.use(await makeTemporaryFolder(tmpdir(), 'gatehouse-sample-'))
  const issuer = stack.use(await startIssuer({ algorithms: ['RS256'] }))
  const directory = stack.use(await startDirectory())
  setDefaultCACertificates([...getCACertificates(), directory.ca])
  const server = stack.use(
    await startServerProcess({
      folder: folder.path,
      environment: { ...cloudEnvironment(directory), GATEHOUSE_AUDIT_DIRS: join(folder.path, 'audit') },
    }),
  )
  const operator: Operator = {
    url: server.url,
    write: (path, body) =>
      sendSuccessfully(server.url, { method: 'POST', path, token: server.rootToken, body }),
    as: (token, call) => send(server.url, { ...call, ...(token !== undefined && { token }) }),
  }
  const provider = stack.use(await startStaffProvider(server.url))
  await operator.write('sys/audit/file', {
    type: 'file',
    options: { file_path: join(folder.path, 'audit', 'requests.log') },
  })
  await sampleSecrets(operator, '')
  const staff = await people(operator, provider.url)
  const jobs = await pipelines(operator, issuer)
  await cloudCredentials(operator, directory, jobs)
  await announcements(operator, staff)
  await tenants(operator, ['acme', 'globex'])
  const kept = stack.move()
  return { url: server.url, [Symbol.asyncDispose]: () => kept.disposeAsync() }
}
