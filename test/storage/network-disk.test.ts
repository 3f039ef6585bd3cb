import { expect, test } from 'vitest'
import { networkDisk, refuseNetworkDisk } from '../../src/storage/network-disk.ts'

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
