import { statfs } from 'node:fs/promises'
import * as os from 'node:os'
import { dirname, resolve } from 'node:path'
import { type Resource, resource } from '../../../http/resource/resource.ts'
import { formatTime } from '../../../lib/text/time.ts'
import { answers } from '../answers/answers.ts'

export type HostInfoParts = {
  /** Path of the database; undefined if it is elsewhere. */
  readonly databasePath: string | undefined
}

/** `sys/host-info`: what Node.js knows of the machine. docs/contract/node.md#host */
export const hostInfoResources = ({ databasePath }: HostInfoParts): Resource[] => [
  resource('/host-info', {
    help: 'Processors, memory, file systems and system of the machine that this server runs on.',
    read: {
      summary: 'Read what the server knows of its machine',
      ...answers.hostInfo,
      handle: async () => ({
        data: {
          cpu: os.cpus().map(({ model, speed }, cpu) => ({ cpu, cores: 1, modelName: model, mhz: speed })),
          cpu_times: os
            .cpus()
            .map(({ times }, index) => ({
              cpu: `cpu${index}`,
              user: times.user / 1000,
              system: times.sys / 1000,
              idle: times.idle / 1000,
              nice: times.nice / 1000,
              irq: times.irq / 1000,
            })),
          disk: await disks(databasePath),
          host: host(),
          memory: memory(),
          timestamp: formatTime(Date.now()),
        },
      }),
    },
  }),
]

async function disks(databasePath: string | undefined): Promise<object[]> {
  const paths = new Set(['/', ...(databasePath === undefined ? [] : [dirname(resolve(databasePath))])])
  const found = await Promise.all([...paths].map((path) => disk(path).catch(() => [])))
  return found.flat()
}

async function disk(path: string): Promise<object[]> {
  const { bsize, blocks, bfree, bavail, files, ffree, type } = await statfs(path)
  const used = (blocks - bfree) * bsize
  const usable = used + bavail * bsize
  return [
    {
      path,
      fstype: `0x${type.toString(16)}`,
      total: blocks * bsize,
      free: bavail * bsize,
      used,
      usedPercent: percent(used, usable),
      inodesTotal: files,
      inodesUsed: files - ffree,
      inodesFree: ffree,
      inodesUsedPercent: percent(files - ffree, files),
    },
  ]
}

function host(): object {
  const uptime = Math.floor(os.uptime())
  return {
    hostname: os.hostname(),
    uptime,
    bootTime: Math.floor(Date.now() / 1000) - uptime,
    os: os.platform(),
    platform: os.type(),
    kernelVersion: os.release(),
    kernelArch: os.machine(),
  }
}

function memory(): object {
  const total = os.totalmem()
  const available = os.freemem()
  return { total, available, used: total - available, usedPercent: percent(total - available, total) }
}

const percent = (part: number, whole: number): number => (whole === 0 ? 0 : (100 * part) / whole)
