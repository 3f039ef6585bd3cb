import { readFile } from 'node:fs/promises'
import { setTimeout as wait } from 'node:timers/promises'
import { ChainCheck, type CheckOptions } from '../../../src/core/audit/chain-check.ts'
import { AuditChainKeys } from '../../../src/core/audit/chain-keys.ts'
import {
  type AuditDevice,
  type DeviceParts,
  type DeviceSettings,
  type DeviceTiming,
  deviceTiming,
  openDevice,
} from '../../../src/core/audit/device.ts'
import { LineSplitter } from '../../../src/lib/text/line-splitter.ts'
import { openCoreView } from '../../support/core-view.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

type Logged = { readonly level: string; readonly event?: string; readonly [field: string]: unknown }

export type DeviceFixture = AsyncDisposable & {
  /** A folder that file devices may write to. */
  file(name: string): string
  readonly folder: string
  readonly keys: AuditChainKeys
  readonly logged: Logged[]
  readonly states: boolean[]
  /** Opens `file/`, as after a start of the server. Closed with the fixture, or before. */
  open(options?: {
    target?: Partial<DeviceSettings['target']>
    sync?: DeviceSettings['sync']
    timing?: Partial<DeviceTiming>
    faults?: SharedArrayBuffer
    sign?: DeviceParts['sign']
  }): Promise<AuditDevice>
}

/** A real barrier for keys and heads, and a folder. */
export async function deviceFixture(): Promise<DeviceFixture> {
  const held = new AsyncDisposableStack()
  const core = held.use(await openCoreView())
  const folder = held.use(await temporaryFolder())
  const keys = await AuditChainKeys.open({ view: core.view, clock: core.clock, onUnreadable: () => {} })
  const logged: Logged[] = []
  const states: boolean[] = []
  const log = (level: string) => (fields: object, msg: string) => void logged.push({ ...fields, level, msg })
  const path = 'file/'
  const replica = 'one'
  return {
    file: folder.file,
    folder: folder.path,
    keys,
    logged,
    states,
    async open({ target = {}, sync = 'interval', timing = {}, faults, sign } = {}) {
      const file = { kind: 'file', path: folder.file('audit.log'), mode: 0o600, directories: [folder.path] }
      const device = openDevice(
        { path, target: { ...file, ...target } as DeviceSettings['target'], sync },
        {
          clock: core.clock,
          log: { debug: log('debug'), info: log('info'), warn: log('warn'), error: log('error') },
          replica,
          sign: sign ?? ((text) => keys.sign(text)),
          chainHead: await keys.headOf(path, replica),
          storeHead: (head) => keys.storeHead(path, replica, head),
          onState: (isUp) => void states.push(isUp),
          faults,
        },
        { ...deviceTiming, ...timing },
      )
      await device.opened
      return held.use(device)
    },
    [Symbol.asyncDispose]: () => held.disposeAsync(),
  }
}

export const entry = (id: number | string): string =>
  JSON.stringify({ time: '2026-01-02T03:04:05.250Z', type: 'request', request: { id: `${id}`, path: 'é/x' } })

/** Writes until the device's thread has started, which may take longer than a short time limit. */
export async function untilReady(device: AuditDevice): Promise<void> {
  const isWritten = () =>
    device.write(entry('ready')).then(
      () => true,
      () => false,
    )
  // a spinning check would hold the thread up
  while (!(await isWritten())) await wait(5)
}

/** What the verification says of each text: `intact`, or the line and the reason. */
export function verdictOf(texts: readonly (string | Buffer)[], options: Partial<CheckOptions> = {}) {
  const check = new ChainCheck({ isMixed: false, keys: undefined, heads: [], ...options })
  for (const text of texts) {
    check.beginFile()
    const splitter = new LineSplitter(1 << 20, (line) => check.add(line))
    splitter.add(Buffer.from(text))
    const broken = check.endFile(splitter.rest)
    if (broken !== undefined) return broken
  }
  return check.endAll() ?? 'intact'
}

/** The verdict on files. */
export const verdictOn = async (files: readonly string[], options: Partial<CheckOptions> = {}) =>
  verdictOf(await Promise.all(files.map((file) => readFile(file))), options)

/** The kind of each record: the type of an entry, the event of a chain record. */
export const kindsIn = async (file: string): Promise<string[]> => kindsOf(await readFile(file, 'utf8'))

export const kindsOf = (text: string): string[] =>
  text
    .split('\n')
    .filter((line) => line.endsWith('}'))
    .map((line) => {
      const { type, event, reason } = JSON.parse(line)
      return type === 'chain' ? [event, reason].filter(Boolean).join(' ') : type
    })
