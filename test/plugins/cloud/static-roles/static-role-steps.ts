import type { Directory } from '../../../../simulators/directory/directory.ts'
import type { Answer, Client, Json } from '../../../support/client.ts'
import { type CloudFixture, type CloudHouseOptions, startCloudFixture } from '../cloud-fixture.ts'
import { works } from '../credential-steps.ts'

/** A server that looks for due roles all the time. */
export const startStaticFixture = (options: CloudHouseOptions = {}): Promise<CloudFixture> =>
  startCloudFixture({
    ...options,
    cloudTimes: { staticTimes: { lookMs: 20, restMs: 0 }, ...options.cloudTimes },
  })

export type Application = ReturnType<Directory['admin']['addApplication']>

export const anApplication = ({ directory }: Pick<CloudFixture, 'directory'>, name = 'theirs'): Application =>
  directory.admin.addApplication({ displayName: name })

/** Creates a static role on a new application. */
export async function aStaticRole(
  fixture: CloudFixture,
  name: string,
  body: object = {},
): Promise<Application> {
  const application = anApplication(fixture, name)
  succeed(
    await fixture.root.write(`cloud/static-roles/${name}`, {
      application_object_id: application.id,
      ...body,
    }),
    204,
  )
  return application
}

export function succeed(answer: Answer, status = 200): Record<string, Json> {
  if (answer.status !== status) throw new Error(`${answer.status} ${answer.text}`)
  return (answer.body?.data ?? {}) as Record<string, Json>
}

export const roleOf = async (root: Client, name: string): Promise<Record<string, Json>> =>
  succeed(await root.read(`cloud/static-roles/${name}`))

export const passwordOf = async (root: Client, name: string): Promise<Record<string, Json>> =>
  succeed(await root.read(`cloud/static-creds/${name}`))

/** The passwords of an application that the engine added and did not remove. */
export const passwordsOn = ({ directory }: Pick<CloudFixture, 'directory'>, { appId }: Application) =>
  directory
    .inventory()
    .filter(({ kind, clientId, deleted }) => kind === 'password' && clientId === appId && !deleted)

/** The key ids of those. */
export const keysOn = (fixture: Pick<CloudFixture, 'directory'>, application: Application): string[] =>
  passwordsOn(fixture, application).map(({ id }) => id)

/** Whether the password of a role signs in. */
export async function roleWorks(fixture: CloudFixture, name: string): Promise<boolean> {
  const { client_id, client_secret } = await passwordOf(fixture.root, name)
  return works(fixture, { clientId: String(client_id), secret: String(client_secret) })
}

export const errorOf = ({ status, body }: Answer): string => `${status} ${String(body?.errors?.[0] ?? '')}`

export const hour = 3600
export const day = 24 * hour
