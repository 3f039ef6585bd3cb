import type { Client, Json } from '../../../support/client.ts'
import { type CloudFixture, type CloudHouseOptions, startCloudFixture } from '../cloud-fixture.ts'
import { aRole, until } from '../credential-steps.ts'

/** Looks at the pools often. */
export const startPoolFixture = (options: CloudHouseOptions = {}): Promise<CloudFixture> =>
  startCloudFixture({ ...options, cloudTimes: { poolTimes: { lookMs: 20 }, ...options.cloudTimes } })

export type ShownPools = {
  idle: number
  wanted: number
  roles: { role: string; size: number; ready: number; oldest: Json; error: string; retry_at: Json }[]
}

export async function poolsAt(root: Client, mount = 'cloud'): Promise<ShownPools> {
  const { status, text, body } = await root.read(`${mount}/pool`)
  if (status !== 200) throw new Error(`pool: ${status} ${text}`)
  return body.data as unknown as ShownPools
}

/** Waits until this many of the role would be handed out, and no other members are left. */
export const filled = (root: Client, role: string, ready: number): Promise<void> =>
  until(async () => {
    const { idle, roles } = await poolsAt(root)
    return idle === ready && (roles.find((one) => one.role === role)?.ready ?? 0) === ready
  })

/** Creates a role, and waits until its pool is full. */
export async function aPool(
  fixture: CloudFixture,
  name: string,
  size: number,
  body: object = {},
): Promise<void> {
  await aRole(fixture, name, { ...body, pool: size })
  await filled(fixture.root, name, size)
}

/** The client ids of the applications that exist upstream. */
export const applications = ({ directory }: Pick<CloudFixture, 'directory'>, role: string): string[] =>
  directory
    .inventory()
    .filter(
      ({ kind, deleted, name }) =>
        kind === 'application' && !deleted && name.startsWith(`gatehouse-${role}-`),
    )
    .map(({ clientId }) => String(clientId))
    .sort()

export const creations = ({ directory }: Pick<CloudFixture, 'directory'>): number =>
  directory.journal.entries({ operation: 'createApplication' }).length
