import { stat } from 'node:fs/promises'
import { expect, test } from 'vitest'
import { networkDisk, refuseNetworkDisk } from '../../src/storage/sqlite/network-disk.ts'
import { logLines } from '../support/log-lines.ts'
import { runServer, startProcess } from '../support/process.ts'
import { fakeSystem, noFakedSystem } from '../support/system/faked-system.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

test.each([
  ['NFS', 0x6969],
  ['SMB', 0x517b],
  ['SMB', 0xff534d42],
  ['SMB', 0xfe534d42 - 2 ** 32],
  ['FUSE', 0x65735546],
  ['9p', 0x01021997],
])('a disk of kind %s (%d) is refused with the setting that allows it', async (kind, type) => {
  await expect(refuseNetworkDisk('/data', async () => type)).rejects.toMatchObject({
    exitCode: 2,
    message: `cannot use /data: ${kind} can damage the database; set GATEHOUSE_ALLOW_NETWORK_DISK=true to take that risk`,
  })
})

test.each([
  ['ext4', 0xef53],
  ['xfs', 0x58465342],
  ['tmpfs', 0x01021994],
  ['overlay', 0x794c7630],
  ['btrfs', 0x9123683e],
])('a local disk of kind %s is accepted', (_, type) => {
  expect(networkDisk(type)).toBeUndefined()
})

test.skipIf(noFakedSystem !== undefined)(
  'a server whose folder is on NFS writes no database, unless the operator takes the risk',
  async () => {
    await using folder = await temporaryFolder()
    const { environment } = fakeSystem(folder.path, { diskType: 0x6969 })

    const refused = await runServer({ folder: folder.path, environment })
    const { size } = await stat(folder.file('data/gatehouse.db'))
    await using server = await startProcess({
      folder: folder.path,
      environment,
      settings: { ALLOW_NETWORK_DISK: 'true' },
    })

    expect([refused.code, logLines(refused).at(-1)?.msg]).toEqual([
      2,
      expect.stringMatching(/: NFS can damage the database; set GATEHOUSE_ALLOW_NETWORK_DISK=true/),
    ])
    expect(size).toBe(0)
    expect(await server.anonymous.read('sys/health')).toMatchObject({ status: 200 })
  },
)
