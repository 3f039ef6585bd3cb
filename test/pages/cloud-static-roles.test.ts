import { mkdir, readFile, stat } from 'node:fs/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { CloudFixture } from '../plugins/cloud/cloud-fixture.ts'
import { until, works } from '../plugins/cloud/credential-steps.ts'
import {
  type Application,
  anApplication,
  day,
  keysOn,
  passwordOf,
  roleOf,
  startStaticFixture,
} from '../plugins/cloud/static-roles/static-role-steps.ts'
import { openGuide, openShell } from './page.ts'

const section = 'An application with a grace period'
const stack = new AsyncDisposableStack()
let house: CloudFixture
let shell: Awaited<ReturnType<typeof openShell>>
let guide: ReturnType<typeof openGuide>
let application: Application

beforeAll(async () => {
  house = stack.use(await startStaticFixture())
  shell = stack.use(await openShell({ VAULT_ADDR: house.server.url, VAULT_TOKEN: 'root' }))
  application = anApplication(house, 'billing')
  house.directory.admin.addOwner(application.id, house.directory.rootServicePrincipalId)
  house.directory.change({ directoryPermissions: ['Application.ReadWrite.OwnedBy'] })
  await mkdir(shell.file('billing'))
  guide = openGuide('docs/cloud-static-roles.md', {
    'b1f0a3de-3b0c-44f7-8c1c-6f4b8d7a2f10': application.id,
    '/run/billing': shell.file('billing'),
  })
})
afterAll(() => stack.disposeAsync())

const read = (secret: string) => works(house, { clientId: application.appId, secret })
const file = async () => (await readFile(shell.file('billing/secret'), 'utf8')).trim()

describe('docs/cloud-static-roles.md', () => {
  test('an application that follows the page works before, during and after a rotation', async () => {
    const [create = '', secretSh = ''] = guide.blocks(section)
    const { output } = await shell.run(create)
    await shell.run(secretSh)
    const former = await file()

    expect(output).toContain(`"client_id":"${application.appId}"`)
    expect((await stat(shell.file('billing/secret'))).mode & 0o777).toBe(0o600)
    expect(await read(former)).toBe(true)

    // a Saturday, as the page says
    const due = Date.parse(String((await roleOf(house.root, 'billing')).next_vault_rotation))
    expect(new Date(due).toUTCString()).toBe('Sat, 09 May 2026 03:00:00 GMT')
    house.clock.advance((due - house.clock.now()) / 1000)
    await until(async () => String((await passwordOf(house.root, 'billing')).client_secret) !== former)

    expect(await read(former)).toBe(true)
    await shell.run(secretSh)
    expect(await file()).not.toBe(former)
    expect(await read(await file())).toBe(true)
    const { previous_expiration: end } = await passwordOf(house.root, 'billing')
    const rotated = Date.parse(String((await roleOf(house.root, 'billing')).last_vault_rotation))
    expect((Date.parse(String(end)) - rotated) / 1000).toBe(day)

    house.clock.advance(day)
    await until(() => keysOn(house, application).length === 1)
    expect(await read(former)).toBe(false)
    expect(await read(await file())).toBe(true)
  })

  test('its policies permit what the application and its operators need, and no more', async () => {
    const [, hcl = ''] = /^```hcl\n(.*?)^```$/ms.exec(guide.text) ?? []
    const [forApplication = '', forOperators = ''] = hcl.split('\n\n')
    const statuses = async (policy: string) => {
      await house.root.write('sys/policies/acl/of-the-page', { policy })
      const { body } = await house.root.write('auth/token/create', { policies: ['of-the-page'] })
      const client = house.server.as(String(body.auth?.client_token))
      const answers = [
        await client.read('cloud/static-creds/billing'),
        await client.read('cloud/static-roles/billing'),
        await client.write('cloud/rotate-role/billing', {}),
        await client.read('cloud/static-creds/other'),
      ]
      return answers.map(({ status }) => status)
    }

    expect(await statuses(forApplication)).toEqual([200, 403, 403, 403])
    expect(await statuses(forOperators)).toEqual([403, 200, 204, 403])
  })

  test('all of its commands are run', () => {
    expect(guide.unread()).toEqual([])
  })
})
