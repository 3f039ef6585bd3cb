import { afterAll, beforeAll, expect, test } from 'vitest'
import { aLoginMount } from '../plugins/identity/login-mount.ts'
import { FakeClock } from '../support/fake-clock.ts'
import { startTestServer, type TestServer } from '../support/start-server.ts'
import { expectAccessible, openAs, sharedPage } from './pages.ts'

const markup = '<img src=x onerror="document.title=1">'
const clock = new FakeClock(Date.now())
let server: TestServer

beforeAll(async () => {
  server = await startTestServer({ clock })
  const { root } = server
  await root.write('sys/policies/acl/deploy', { policy: 'path "team/*" { capabilities = ["read"] }' })
  await root.write('identity/entity', { name: markup, policies: ['deploy'] })
  await root.write('sys/policies/acl/auditor', {
    policy:
      'path "sys/policies/acl/*" { capabilities = ["read", "list"] }\npath "sys/policies/acl" { capabilities = ["list"] }',
  })
})
afterAll(() => server[Symbol.asyncDispose]())
const visit = sharedPage(() => server.url)

const tokenOf = async (policy: string): Promise<string> => {
  const made = await server.root.write('auth/token/create', { policies: [policy] })
  return String(made.body.auth?.client_token)
}

async function open(token: string, place: string) {
  return openAs(`${server.url}/ui/#/access${place}`, token)
}

test('an operator counts and deletes entities that logins left, some at a time, cancels that, and tidies tokens', async () => {
  const ci = await aLoginMount(server, 'ci')
  for (let at = 0; at < 3; at += 1) await ci.login(`run-${at}`)
  clock.advance(91 * 86_400)
  await using opened = await open(await tokenOf('root'), '/entities')
  const { page, complaints } = opened
  const panel = page.getByRole('region', { name: 'Entities left behind' })
  await panel.getByRole('button', { name: 'Count them' }).click()
  await panel.getByText('3 can be deleted.').waitFor()
  await panel.getByText('run-1').waitFor()
  await expectAccessible(page)
  const begun = Promise.withResolvers<void>()
  const held = Promise.withResolvers<void>()
  await page.route('**/v1/identity/tidy', async (route) => {
    begun.resolve()
    await held.promise
    await route.continue({ postData: JSON.stringify({ unused_for: '90d', limit: 1 }) })
  })
  const remove = async () => {
    await panel.getByRole('button', { name: 'Delete them' }).click()
    await page.getByRole('alertdialog').getByRole('button', { name: 'Delete them' }).click()
  }
  await remove()
  await begun.promise
  await panel.getByRole('progressbar').waitFor()
  await panel.getByRole('button', { name: 'Cancel' }).click()
  held.resolve()
  await panel.getByText('1 of 3 are deleted. Cancelled; the others stay.').waitFor()
  await page.unroute('**/v1/identity/tidy')
  const asked = Promise.withResolvers<void>()
  await page.route('**/v1/identity/tidy', () => asked.resolve())
  await panel.getByRole('button', { name: 'Count them' }).click()
  await asked.promise
  // another time is another question: the answer to the former one must not lead to a deletion
  await panel.getByRole('textbox', { name: 'Without a login for' }).fill('60d')
  await panel.getByRole('button', { name: 'Count them' }).waitFor()
  await page.unroute('**/v1/identity/tidy')
  await panel.getByRole('button', { name: 'Count them' }).click()
  await remove()
  await panel.getByText('2 of 2 are deleted.').waitFor()

  await page.getByRole('link', { name: 'Tokens' }).click()
  await page.getByRole('button', { name: 'Tidy up' }).click()
  await page.getByText('Tidy operation successfully started').waitFor()
  expect(complaints).toEqual([])
})

test('a reader of policies sees them without buttons, and asks what the token may do', async () => {
  await using opened = await open(await tokenOf('auditor'), '/policies/deploy')
  const { page } = opened
  await page.getByText('path "team/*"').waitFor()
  expect(await page.getByRole('button', { name: /^(?:Save|Delete)$/ }).count()).toBe(0)
  expect(await page.getByRole('link', { name: 'Tokens' }).count()).toBe(0)

  await page.getByRole('link', { name: 'Policies' }).click()
  await page.getByRole('textbox', { name: 'Path' }).fill('sys/policies/acl/x')
  await page.getByRole('button', { name: 'Ask' }).click()
  await page.getByText('At sys/policies/acl/x: list, read').waitFor()
})

test('a token that may only list policies sees names without links', async () => {
  await server.root.write('sys/policies/acl/lister', {
    policy:
      'path "sys/policies/acl" { capabilities = ["list"] }\npath "sys/policies/acl/deploy" { capabilities = ["read"] }',
  })
  await using opened = await open(await tokenOf('lister'), '')
  const { page } = opened
  const list = page.getByRole('list', { name: 'Policies' })
  await list.getByRole('link', { name: 'deploy' }).waitFor()
  await list.getByText('auditor').waitFor()
  expect(await list.getByRole('link').allTextContents()).toEqual(['deploy'])
})

test('tokens are sorted by a heading, or by a list on a phone; the order survives a page that is opened and left', async () => {
  for (const [name, ttl] of [
    ['b-two', '2h'],
    ['a-one', '3h'],
    ['c-three', '1h'],
  ])
    await server.root.write('auth/token/create', { policies: ['default'], ttl, display_name: name })
  await using opened = await open(await tokenOf('root'), '/tokens')
  const { page, complaints } = opened
  await page.getByRole('textbox', { name: 'Filter' }).fill('token-')
  const names = page.getByRole('table', { name: 'Tokens' }).getByRole('link', { name: /^token-[abc]-/ })
  const shown = async (first: string) => {
    await page.getByRole('row').nth(1).getByRole('link', { name: first }).waitFor()
    return (await names.allTextContents()).map((name) => name.replace('token-', ''))
  }
  const heading = (name: string) => page.getByRole('columnheader', { name })
  await heading('Name').getByRole('button').press('Enter')
  expect(await shown('a-one')).toEqual(['a-one', 'b-two', 'c-three'])
  expect(await heading('Name').getAttribute('aria-sort')).toBe('ascending')
  await heading('Time left').getByRole('button').click()
  expect(await shown('c-three')).toEqual(['c-three', 'b-two', 'a-one'])
  await heading('Time left').getByRole('button').click()
  await expect.poll(() => heading('Time left').getAttribute('aria-sort')).toBe('descending')
  expect(await heading('Name').getAttribute('aria-sort')).toBe('none')
  await expectAccessible(page)

  await page.getByRole('link', { name: 'token-b-two' }).click()
  await page.getByRole('heading', { name: 'token-b-two' }).waitFor()
  await page.goBack()
  expect(await shown('a-one')).toEqual(['a-one', 'b-two', 'c-three'])
  expect(await page.getByRole('textbox', { name: 'Filter' }).inputValue()).toBe('token-')

  await page.setViewportSize({ width: 360, height: 800 })
  const order = page.getByRole('combobox', { name: 'Sort by' })
  expect(await order.inputValue()).toBe('-left')
  await order.selectOption('Time left, ascending')
  expect(await shown('c-three')).toEqual(['c-three', 'b-two', 'a-one'])
  await expectAccessible(page)
  await page.setViewportSize({ width: 1280, height: 720 })
  expect(complaints).toEqual([])
})

test('an operator finds a person by an alias, sees their tokens, and revokes all of them', async () => {
  const { root } = server
  await root.write('auth/token/roles/people', { allowed_entity_aliases: '*', orphan: true })
  const made = async (name: string) => {
    const body = { entity_alias: 'Noor', policies: ['deploy'], display_name: name, ttl: '1h', num_uses: 7 }
    return String((await root.write('auth/token/create/people', body)).body.auth?.client_token)
  }
  const tokens = [await made('laptop'), await made('phone')]
  const { page, complaints } = await visit('access/tokens')
  const table = page.getByRole('table', { name: 'Tokens' })
  await page.getByRole('textbox', { name: 'Filter by name, method, entity or policy' }).fill('noor')
  await page.getByText(/^2 of \d+ are shown\.$/).waitFor()
  const row = table.getByRole('row', { name: /token-laptop/ })
  expect(await row.getByRole('cell').allInnerTexts()).toEqual([
    'token-laptop',
    'token/',
    'Noor',
    'default, deploy',
    expect.any(String),
    expect.stringMatching(/^(?:1 h|59 min)/),
    '7',
  ])
  await row.getByRole('link', { name: 'Noor' }).click()

  await page.getByRole('heading', { name: 'Noor' }).waitFor()
  await table.getByRole('link', { name: 'token-phone' }).waitFor()
  await page.getByRole('button', { name: 'Revoke all' }).click()
  const question = page.getByRole('alertdialog', { name: 'Revoke all tokens of Noor?' })
  await question.getByText('2 tokens end').waitFor()
  await question.getByRole('button', { name: 'Revoke all' }).click()
  await page.getByText('It has no tokens that are stored.').waitFor()
  for (const token of tokens) expect((await server.as(token).read('auth/token/lookup-self')).status).toBe(403)
  await root.delete(`identity/entity/id/${page.url().split('/').at(-1)}`)
  expect(complaints).toEqual([])
})

test('an operator creates a token, looks it up by its accessor, and revokes it', async () => {
  const { page, requested } = await visit('access/tokens')
  await page.getByRole('combobox', { name: 'Policies' }).fill('deploy')
  await page.keyboard.press('Tab')
  await page.getByRole('textbox', { name: 'Display name' }).fill('robot')
  await page.getByRole('button', { name: 'Create the token' }).click()
  await page.getByRole('button', { name: 'Show Token' }).click()
  const made = String(await page.getByText(/^hvs\./).textContent())
  await expectAccessible(page)

  await page.getByRole('region', { name: 'New token' }).getByRole('link').click()
  await page.getByRole('heading', { name: 'token-robot' }).waitFor()
  await page.getByRole('button', { name: 'Revoke' }).click()
  await page.getByRole('alertdialog').getByRole('button', { name: 'Revoke' }).click()
  await page.getByRole('alertdialog').waitFor({ state: 'detached' })

  expect((await server.as(made).read('auth/token/lookup-self')).status).toBe(403)
  expect(requested.join('\n')).not.toContain(made)
})

test('an operator writes a policy; a syntax error is named with its line', async () => {
  const { page, complaints } = await visit('access')
  await page.getByRole('link', { name: 'deploy', exact: true }).waitFor()
  await page.getByRole('textbox', { name: 'Open or create a policy' }).fill('team')
  await page.getByRole('button', { name: 'Open' }).click()
  const policy = page.getByRole('textbox', { name: 'Policy', exact: true })
  await policy.fill('path "a" {\n  capabilities = [read]\n}\n')
  await page.getByRole('button', { name: 'Save' }).click()
  await page.getByText(/^Line 2, column \d+: /).waitFor()
  await expectAccessible(page)

  await policy.fill('path "a" {\n  capabilities = ["read"]\n}\n')
  await page.getByRole('button', { name: 'Save' }).click()
  await page.getByText('Saved').waitFor()
  expect((await server.root.read('sys/policies/acl/team')).body.data).toMatchObject({
    policy: 'path "a" {\n  capabilities = ["read"]\n}\n',
  })

  await page.reload()
  await page.getByRole('button', { name: 'Delete' }).click()
  await page.getByRole('alertdialog', { name: 'Delete the policy team?' }).waitFor()
  await page.getByRole('alertdialog').getByRole('button', { name: 'Delete' }).click()
  await page.getByRole('link', { name: 'deploy', exact: true }).waitFor()
  expect((await server.root.read('sys/policies/acl/team')).status).toBe(404)
  expect(complaints).toEqual([])
})

test('an editor completes paths, warns of rules that never match, and says who may do what and why', async () => {
  const { page, complaints } = await visit('access/policies/bench')
  const policy = page.getByRole('textbox', { name: 'Policy', exact: true })
  await policy.fill(
    '# path "nowhere/a" { }\npath "auth/token/crea*te" { capabilities = ["update"] }\npath "auth/to+/x" { capabilities = ["read"] }\npath "nowhere/*" { capabilities = ["read"] }\npath "sys/mounts" { capabilities = ["deny"] }\npath "sys/mounts" { capabilities = ["read"] }\n',
  )
  const warnings = page.getByRole('list', { name: 'Rules that may not do what is meant' })
  await warnings.getByText('no mount and no namespace').waitFor()
  expect(await warnings.getByRole('listitem').allTextContents()).toEqual([
    expect.stringMatching(/^Line 2, .* \* matches anything at the end only/),
    expect.stringMatching(/^Line 3, .* \+ matches a whole part/),
    expect.stringMatching(/^Line 4, nowhere\/\*: it never matches/),
    expect.stringMatching(/^Line 6, .* line 5 denies the same path/),
  ])
  await policy.fill('')
  const list = page.getByRole('listbox', { name: 'Completions' })
  const active = () => list.getByRole('option', { selected: true }).textContent()
  await policy.press('Control+Space')
  expect(await active()).toBe('path')
  await policy.press('Enter')
  await list.waitFor()
  await policy.pressSequentially('auth/tok')
  expect(await active()).toBe('auth/token/*')
  expect(await policy.getAttribute('aria-activedescendant')).toBe(
    await list.getByRole('option', { selected: true }).getAttribute('id'),
  )
  await expectAccessible(page)
  await policy.press('Enter')
  await list.getByRole('option', { name: 'create' }).waitFor()
  await policy.press('Escape')
  expect(await list.count()).toBe(0)
  await policy.pressSequentially('"re')
  await list.waitFor()
  await policy.press('ArrowLeft')
  await list.waitFor({ state: 'detached' })
  await policy.press('ArrowRight')
  await policy.press('Control+Space')
  await policy.press('Enter')
  await policy.pressSequentially(', ')
  expect(await list.getByRole('option').allTextContents()).not.toContain('read')
  await policy.press('ArrowUp')
  expect(await active()).toBe('deny')
  await list.getByRole('option', { name: 'list' }).click()
  expect(await policy.inputValue()).toBe('path "auth/token/*" {\n  capabilities = ["read", "list"]\n}')
  await policy.press('Control+z')
  expect(await policy.inputValue()).toBe('path "auth/token/*" {\n  capabilities = ["read", ]\n}')
  await policy.press('Backspace')
  await policy.press('Backspace')
  expect(await list.count()).toBe(0)

  const bench = page.getByRole('region', { name: 'Who may do what, and why?' })
  await bench.getByRole('textbox', { name: 'Path' }).fill('auth/token/lookup-self')
  await bench.getByRole('button', { name: 'Ask' }).click()
  await bench.getByText('The rule grants it.').waitFor()
  await bench.getByRole('combobox', { name: 'Operation' }).selectOption('update')
  await bench.getByRole('button', { name: 'Ask' }).click()
  await bench.getByText('does not name this capability').waitFor()
  await bench.getByText('auth/token/*: read').waitFor()
  await page.getByRole('button', { name: 'What would change?' }).click()
  await page.getByText(/^Of 0 uses in 30 days, 0 would be denied/).waitFor()
  await page.getByRole('button', { name: 'Save' }).click()
  await page.getByText('Saved').waitFor()
  await page.reload()
  await page.getByRole('heading', { name: 'History' }).waitFor()

  await page.getByRole('link', { name: 'Policies' }).click()
  // the page of the policy has such a form, too
  await page.getByRole('list', { name: 'Policies' }).waitFor()
  await bench.getByRole('combobox', { name: 'Who', exact: true }).selectOption('entity')
  await bench.getByRole('combobox', { name: 'A person, with the default policy' }).fill(markup)
  await page.getByRole('option', { name: markup }).waitFor()
  await page.keyboard.press('Enter')
  await bench.getByRole('textbox', { name: 'Path' }).fill('team/a')
  await bench.getByRole('button', { name: 'Ask' }).click()
  await bench.getByText('team/*: read').waitFor()
  await expectAccessible(page)
  expect(complaints).toEqual([])
})

test('an entity whose name is markup is shown as text, disabled, and deleted', async () => {
  const { page, complaints } = await visit('access/entities')
  await page.getByRole('link', { name: markup }).click()
  await page.getByRole('heading', { name: markup }).waitFor()
  await page.getByRole('button', { name: 'Disable' }).click()
  await page.getByText('disabled: it cannot log in').waitFor()
  await expectAccessible(page)

  await page.getByRole('button', { name: 'Delete' }).click()
  await page.getByRole('alertdialog').getByRole('button', { name: 'Delete' }).click()
  await page.getByText('No entities yet').waitFor()
  await page.getByRole('link', { name: 'Groups' }).click()
  await page.getByText('No groups yet').waitFor()

  await page.getByRole('link', { name: 'Entities' }).click()
  await page.getByRole('heading', { name: 'New entity' }).waitFor()
  const accessor = String((await server.root.read('sys/auth')).body.data?.['token/']?.['accessor'])
  await server.root.write('identity/entity-alias', { name: 'ada@example.com', mount_accessor: accessor })
  await page.getByRole('textbox', { name: 'Name', exact: true }).fill('grace')
  await page.getByRole('button', { name: 'Create' }).click()
  await page.getByRole('heading', { name: 'grace' }).waitFor()
  const id = decodeURIComponent(page.url().split('/').at(-1) ?? '')
  await page.getByRole('link', { name: 'Groups' }).click()
  await page.getByRole('textbox', { name: 'Name', exact: true }).fill('builders')
  const members = page.getByRole('combobox', { name: 'Members', exact: true })
  await members.fill('nobody')
  await page.getByRole('button', { name: 'Create' }).click()
  await page.getByText('Nothing has this name. Choose from the list.').waitFor()
  // a first login made up the name of this person, so the alias finds her
  await members.fill('ADA@')
  await page.getByRole('option', { name: 'ada@example.com' }).click()
  await page.getByRole('button', { name: 'Remove ada@example.com' }).waitFor()
  await members.fill('grace')
  await members.press('Enter')
  await expectAccessible(page)
  await page.getByRole('button', { name: 'Create' }).click()
  await page.getByRole('heading', { name: 'builders' }).waitFor()
  await page.getByRole('link', { name: 'grace' }).waitFor()
  await page.getByRole('button', { name: 'Remove ada@example.com' }).click()
  await page.getByRole('combobox', { name: 'Policies' }).fill('deploy, not-yet-written')
  await page.getByRole('button', { name: 'Save' }).click()
  await page
    .getByRole('definition')
    .filter({ hasText: /^deploy, not-yet-written$/ })
    .waitFor()
  await page
    .getByRole('region', { name: 'History' })
    .getByText(/^Changed by .*policies/)
    .waitFor()
  await expectAccessible(page)
  expect((await server.root.read('identity/group/name/builders')).body.data).toMatchObject({
    policies: ['deploy', 'not-yet-written'],
    member_entity_ids: [id],
  })

  await page.getByRole('link', { name: 'Entities' }).click()
  await page.getByRole('textbox', { name: 'Filter by name, alias or id' }).fill('ada')
  await page.getByRole('link', { name: 'ada@example.com' }).click()
  await page.getByRole('heading', { name: 'ada@example.com' }).waitFor()
  expect(complaints).toEqual([])
})
