import { describe, expect, test } from 'vitest'
import { noSimulatedDisk, simulateDisk } from '../support/disk/simulated-disk.ts'
import { runServer, startProcess } from '../support/process.ts'
import { stoppedServer } from '../support/stopped-server.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

const policy = { policy: 'path "x" { capabilities = ["read"] }' }
const aFilledStore = stoppedServer((server) =>
  server.as(server.rootToken).write('sys/policies/acl/kept', policy),
)

describe.skipIf(noSimulatedDisk !== undefined)('on a full disk', () => {
  test('a server that was killed starts with all it answered, serves reads, keeps others out, and writes once there is room', async () => {
    await using folder = await temporaryFolder()
    const token = await aFilledStore(folder.path)
    await using killed = await startProcess({ folder: folder.path })
    await killed.as(token).write('sys/policies/acl/last', policy)
    await killed.stop('SIGKILL')
    using disk = simulateDisk(folder.file('data'))
    const environment = await disk.environment()
    disk.setFull(true)
    await using server = await startProcess({ folder: folder.path, environment })
    const root = server.as(token)

    const read = await root.read('sys/policies/acl/kept')
    const last = await root.read('sys/policies/acl/last')
    const ready = await server.anonymous.read('/health/ready')
    const refused = await root.write('sys/policies/acl/more', policy)
    const second = await runServer({ folder: folder.path, environment })
    disk.setFull(false)
    const written = await root.write('sys/policies/acl/more', policy)
    const again = await root.read('sys/policies/acl/more')
    const { code } = await server.stop()

    expect([read.status, last.status, ready.status]).toEqual([200, 200, 200])
    expect([refused.status, refused.body['errors'], refused.headers['retry-after']]).toEqual([
      503,
      ['storage is full'],
      '10',
    ])
    expect(second.code).toBe(3)
    expect(second.stderr).toContain(`in use by process ${server.pid}`)
    expect([written.status, again.status, code]).toEqual([204, 200, 0])
  })

  test('a first start is refused in one line', async () => {
    await using folder = await temporaryFolder()
    using disk = simulateDisk(folder.file('data'))
    const environment = await disk.environment()
    disk.setFull(true)

    const { code, stdout, stderr } = await runServer({ folder: folder.path, environment })

    expect([code, stdout]).toEqual([2, ''])
    expect(stderr).toContain('cannot open data/gatehouse.db: storage is full')
    expect(stderr).not.toContain('stack')
  })
})
