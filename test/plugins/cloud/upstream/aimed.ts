import { randomUUID } from 'node:crypto'
import type { Directory, DirectoryOptions } from '../../../../simulators/directory/directory.ts'
import { startDirectory } from '../../../../simulators/directory/start-directory.ts'
import { OutboundClient } from '../../../../src/core/outbound/outbound.ts'
import {
  findEnvironment,
  openUpstream,
  type Upstream,
  type UpstreamCall,
  UpstreamError,
  type UpstreamParts,
  type UpstreamSettings,
} from '../../../../src/plugins/cloud/upstream/index.ts'
import { FakeClock } from '../../../support/fake-clock.ts'

/** A clock that pauses advance: no test waits, and the test sees how long each pause was. */
export class PausingClock extends FakeClock {
  readonly pauses: number[] = []

  readonly pause = async (milliseconds: number): Promise<void> => {
    this.pauses.push(milliseconds)
    this.advance(milliseconds / 1000)
  }
}

export type Aimed = AsyncDisposable & {
  readonly directory: Directory
  readonly clock: PausingClock
  readonly upstream: Upstream
  /** A call with this many seconds until its deadline. */
  call(seconds?: number): UpstreamCall
  /** Another client of the same services. */
  open(settings?: Partial<UpstreamSettings>, parts?: Partial<UpstreamParts>): Upstream
}

/** The engine's upstream client, connected to a stand-in that shares its clock. */
export async function aim(
  options: Omit<DirectoryOptions, 'now'> & { parts?: Partial<UpstreamParts> } = {},
): Promise<Aimed> {
  const clock = new PausingClock()
  const directory = await startDirectory({ ...options, now: () => clock.now() })
  const open: Aimed['open'] = (settings = {}, parts = {}) =>
    openUpstream(
      { ...settingsOf(directory), ...settings },
      { ...upstreamParts, clock, pause: clock.pause, ...parts },
    )
  return {
    directory,
    clock,
    upstream: open({}, options.parts),
    call: (seconds = 90) => ({ deadline: clock.now() + seconds * 1000, correlationId: randomUUID() }),
    open,
    [Symbol.asyncDispose]: () => directory[Symbol.asyncDispose](),
  }
}

/** What an upstream client needs besides its clock. No mount is there to sign tokens. */
const upstreamParts = {
  outbound: new OutboundClient({ deny: [] }),
  identifiers: { uuid: randomUUID },
  signIdentityToken: () => Promise.reject(new Error('no mount')),
}

export function settingsOf(directory: Directory): UpstreamSettings {
  const environment = findEnvironment(undefined, {
    authorityHost: directory.authorityUrl,
    directoryEndpoint: directory.directoryUrl,
    resourceManagerEndpoint: directory.resourceManagerUrl,
  })
  if (environment === undefined) throw new Error('there is always a public environment')
  return {
    subscriptionId: directory.subscriptionId,
    tenantId: directory.tenantId,
    clientId: directory.rootClientId,
    credential: secretOf(directory, directory.rootClientSecret),
    environment,
    caPem: directory.ca,
  }
}

/** The credential of the root with this secret. */
export const secretOf = ({ rootClientId }: Directory, secret: string): UpstreamSettings['credential'] => ({
  type: 'root_creds',
  clientId: rootClientId,
  secret,
})

/** Returns the error of a call that must fail. */
export async function failureOf(calling: Promise<unknown>): Promise<UpstreamError> {
  const outcome: unknown = await calling.then(
    () => 'nothing failed',
    (error: unknown) => error,
  )
  if (outcome instanceof UpstreamError) return outcome
  throw outcome instanceof Error ? outcome : new Error(String(outcome))
}
