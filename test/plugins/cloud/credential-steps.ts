import { setTimeout as wait } from 'node:timers/promises'
import type { FaultInput } from '../../../simulators/directory/fault-fields.ts'
import type { Answer, Json } from '../../support/client.ts'
import { type CloudFixture, guids } from './cloud-fixture.ts'

/** Creates a role that may read one resource group, with further fields. */
export async function aRole(
  fixture: CloudFixture,
  name: string,
  body: object = {},
  mount = 'cloud',
): Promise<void> {
  const lists = mount === 'cloud' ? { cloud_roles: reader(fixture) } : { azure_roles: reader(fixture) }
  const { status, text } = await fixture.root.write(
    `${mount}/roles/${name}`,
    'application_object_id' in body ? body : { ...lists, ...body },
  )
  if (status !== 204) throw new Error(`role ${name}: ${text}`)
}

export const reader = (fixture: CloudFixture, ...groups: string[]): string =>
  JSON.stringify(
    (groups.length === 0 ? ['web'] : groups).map((group) => ({
      role_id: fixture.definition(guids.reader),
      scope: fixture.scope(group),
    })),
  )

/** A credential from a response. */
export type Credential = {
  readonly lease: string
  readonly clientId: string
  readonly secret: string
  readonly duration: number
  readonly warnings: Json
}

export async function aCredential(fixture: CloudFixture, path: string): Promise<Credential> {
  return credentialOf(await fixture.root.read(path.includes('/') ? path : `cloud/creds/${path}`))
}

function credentialOf({ status, text, body }: Answer): Credential {
  if (status !== 200) throw new Error(text)
  return {
    lease: String(body.lease_id),
    clientId: String(body.data?.client_id),
    secret: String(body.data?.client_secret),
    duration: Number(body.lease_duration),
    // every response has them
    warnings: body.warnings as Json,
  }
}

export const revoke = (fixture: CloudFixture, lease: string): Promise<Answer> =>
  fixture.root.write('sys/leases/revoke', { lease_id: lease })
export const renew = (fixture: CloudFixture, lease: string, increment?: number): Promise<Answer> =>
  fixture.root.write('sys/leases/renew', {
    lease_id: lease,
    ...(increment === undefined ? {} : { increment }),
  })

/** The kinds of objects that exist upstream for a client id, deleted or not. */
export const kindsOf = (fixture: CloudFixture, clientId: string, { deleted = false } = {}): string[] =>
  fixture.directory
    .inventory()
    .filter((thing) => thing.clientId === clientId && thing.deleted === deleted)
    .map(({ kind }) => kind)
    .sort()

/** The objects that exist upstream and are not deleted. */
export const living = (fixture: CloudFixture): string[] =>
  fixture.directory
    .inventory()
    .filter(({ deleted, kind }) => !deleted || kind === 'role-assignment')
    .map(({ kind }) => kind)
    .sort()

export async function debris(fixture: CloudFixture, mount = 'cloud'): Promise<Record<string, Json>[]> {
  const { status, body } = await fixture.root.read(`${mount}/debris`)
  if (status !== 200) throw new Error(`debris: ${status}`)
  return body.data?.['objects'] as unknown as Record<string, Json>[]
}

const mostLooks = 2_000

/**
 * Repeats a check until it holds, soon at first and then every 20 ms: a check that is a request takes as much
 * processor time as what is waited for.
 */
export async function until(isSo: () => boolean | Promise<boolean>): Promise<void> {
  for (let looks = 0; looks < mostLooks; looks++) {
    if (await isSo()) return
    await wait(Math.min(2 + looks, 20))
  }
  throw new Error('it never came about')
}

/** Waits until nothing is left to undo. */
export const cleared = (fixture: CloudFixture, mount = 'cloud'): Promise<void> =>
  until(async () => (await debris(fixture, mount)).length === 0)

/** Whether the stand-in accepts the secret. */
export async function works(
  fixture: Pick<CloudFixture, 'directory'>,
  { clientId, secret }: Pick<Credential, 'clientId' | 'secret'>,
): Promise<boolean> {
  const { Agent, request } = await import('node:https')
  const body = new URLSearchParams({
    client_id: clientId,
    client_secret: secret,
    scope: `${fixture.directory.directoryUrl}/.default`,
    grant_type: 'client_credentials',
  }).toString()
  const agent = new Agent({ ca: fixture.directory.ca })
  return new Promise((resolve, reject) => {
    const sent = request(
      `${fixture.directory.authorityUrl}/${fixture.directory.tenantId}/oauth2/v2.0/token`,
      { method: 'POST', agent, headers: { 'content-type': 'application/x-www-form-urlencoded' } },
      (answer) => {
        answer.resume().on('end', () => {
          agent.destroy()
          resolve(answer.statusCode === 200)
        })
      },
    )
    sent.on('error', reject)
    sent.end(body)
  })
}

/** A fault of the stand-in: it answers an operation with a status. */
export const status = (
  operation: NonNullable<FaultInput['operation']>,
  code: number,
  rest: object = {},
): FaultInput =>
  // the members of `rest` are those of this kind
  ({ kind: 'status', operation, status: code, ...rest }) as FaultInput
