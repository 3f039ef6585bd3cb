import { statfs } from 'node:fs/promises'
import { StartError } from '../../errors.ts'

/**
 * Linux `statfs` types of file systems whose locks and shared memory are not reliable enough for SQLite's WAL
 * mode.
 */
const networkTypes = new Map([
  [0x6969, 'NFS'],
  [0x517b, 'SMB'],
  [0xfe534d42, 'SMB'],
  [0xff534d42, 'SMB'],
  [0x65735546, 'FUSE'],
  [0x01021997, '9p'],
  [0x00c36400, 'Ceph'],
  [0x5346414f, 'AFS'],
])

/** The network file system of a `statfs` type; undefined for a local one. */
export const networkDisk = (type: number): string | undefined => networkTypes.get(type >>> 0)

/** Throws a StartError (2) if `folder` is on a network disk. docs/settings.md, ALLOW_NETWORK_DISK */
export async function refuseNetworkDisk(
  folder: string,
  readType = async (path: string) => (await statfs(path)).type,
): Promise<void> {
  const kind = networkDisk(await readType(folder))
  if (kind === undefined) return
  throw new StartError(
    2,
    `cannot use ${folder}: ${kind} can damage the database; set GATEHOUSE_ALLOW_NETWORK_DISK=true to take that risk`,
  )
}
