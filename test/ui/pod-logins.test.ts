import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type PodMount, type Pods, startPods } from '../plugins/kubernetes/pods.ts'
import { expectAccessible, openAs, sharedPage } from './pages.ts'

let pods: Pods
let at: PodMount
let mount: string

beforeAll(async () => {
  pods = await startPods()
  at = await pods.mount()
  mount = at.path.replace('auth/', '')
  await at.login({ jwt: await pods.cluster.token('dev', 'job') })
})
afterAll(() => pods[Symbol.asyncDispose]())

const open = (place: string) => openAs(`${pods.server.url}/ui/#/${place}`, 'root')

test('an operator sees why a pod could not log in', async () => {
  await using opened = await open(`logins/${mount}`)
  const { page, complaints } = opened

  await page.getByRole('table', { name: 'Failed logins' }).getByRole('link').click()

  await page.getByRole('heading', { name: 'Refused: service_account_name_refused (403)' }).waitFor()
  await page.locator('.check.first').getByText('"job"', { exact: true }).waitFor()
  expect(complaints).toEqual([])
})

test('an operator fixes the role of a pod that was refused, and the same login is judged again', async () => {
  await at.role('fixed')
  await at.login({ role: 'fixed', jwt: await pods.cluster.token('dev', 'job') })
  await using opened = await open(`logins/${mount}/failures?role=fixed`)
  const { page, complaints } = opened

  await page.getByRole('table', { name: 'Failed logins' }).getByRole('link').click()
  const now = page.getByRole('region', { name: 'The same login now' })
  await now.getByText('service_account_name (service_account_name_refused)').waitFor()
  await page.getByRole('button', { name: 'Fix this role' }).click()
  const proposal = page.getByRole('region', { name: /^This change would let the refused login in/ })
  await proposal.getByText('anybody may have written these values').waitFor()
  await proposal.getByText('bound_service_account_names').waitFor()
  const tried = page.getByRole('region', { name: 'Try a token' })
  await tried.getByRole('textbox', { name: 'JWT' }).fill(await pods.cluster.token('dev', 'job'))
  await tried.getByRole('button', { name: 'Try it' }).click()
  await page.getByRole('heading', { name: 'This login is allowed' }).waitFor()
  await expectAccessible(page)
  await page.getByRole('button', { name: 'Save' }).click()
  await page.getByText('The role is saved.').waitFor()
  await now.getByText('nothing that is kept of this login refuses it').waitFor()
  await now.getByText('review', { exact: true }).waitFor()
  await expectAccessible(page)

  expect((await at.root.read(`${at.path}/role/fixed`)).body.data).toMatchObject({
    bound_service_account_names: ['web', 'job'],
    bound_service_account_namespaces: ['dev'],
  })
  expect((await at.login({ role: 'fixed', jwt: await pods.cluster.token('dev', 'job') })).status).toBe(200)
  expect(complaints).toEqual([])
})

describe('an operator stays in the UI', () => {
  const visit = sharedPage(() => pods.server.url)

  test('an explanation of a token asks the cluster, and has a hint', async () => {
    await at.role('other', { audience: 'gatehouse' })
    const { page, complaints } = await visit(`logins/${mount}/explain`)
    const explain = async (role: string) => {
      await page.getByRole('textbox', { name: 'JWT' }).fill(await pods.cluster.token())
      await page.getByRole('textbox', { name: 'Role' }).fill(role)
      await page.getByRole('button', { name: 'Explain' }).click()
    }

    await explain('other')
    await page.getByText('the pod needs a projected token with the audience of the role').waitFor()
    await explain('r')

    await page.getByRole('heading', { name: 'This login is allowed' }).waitFor()
    expect(complaints).toEqual([])
  })

  test('an operator makes a role for a client, whose tokens last as long as it needs them', async () => {
    const { page, complaints } = await visit(`logins/${mount}/roles`)
    await page.getByRole('link', { name: 'New role' }).click()
    await page.getByLabel('Client').selectOption({ label: 'External Secrets Operator' })
    const added = page.getByRole('region', { name: 'New role' })
    await added.getByText('auth.kubernetes.serviceAccountRef.audiences').waitFor()
    await added.getByRole('textbox', { name: 'Name of the role' }).fill('Shop')
    await added.getByRole('combobox', { name: 'Service accounts' }).fill('web, *')
    await added.getByRole('combobox', { name: 'Namespaces', exact: true }).fill('shop')
    await page.keyboard.press('Tab')

    await added.getByRole('button', { name: 'Save' }).click()
    await added.getByText('can not mix "*" with values').waitFor()
    await expectAccessible(page)
    await added.getByRole('button', { name: 'Remove *' }).click()
    await added.getByRole('button', { name: 'Save' }).click()

    await page.getByRole('region', { name: 'shop', exact: true }).getByText('gatehouse').waitFor()
    await expectAccessible(page)
    expect((await at.root.read(`${at.path}/role/shop`)).body.data).toMatchObject({
      bound_service_account_names: ['web'],
      bound_service_account_namespaces: ['shop'],
      audience: 'gatehouse',
      token_ttl: 600,
      renewal_review: true,
    })

    await page.getByRole('link', { name: 'Edit' }).click()
    const labels = '{"matchLabels": {"team": "shop"}}'
    await page.getByRole('textbox', { name: 'Namespaces with these labels, too' }).fill(labels)
    await page.getByText('More', { exact: true }).click()
    await page.getByLabel('The entity is named by').selectOption('Namespace and name of the service account')
    await page.getByText('name_alias').waitFor()
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByRole('region', { name: 'shop', exact: true }).getByText(labels).waitFor()
    await page.getByRole('link', { name: 'Edit' }).click()
    await page.getByRole('textbox', { name: 'Audience' }).fill('vault')
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByRole('region', { name: 'shop', exact: true }).getByText('vault').first().waitFor()

    expect((await at.root.read(`${at.path}/role/shop`)).body.data).toMatchObject({
      bound_service_account_names: ['web'],
      bound_service_account_namespaces: ['shop'],
      bound_service_account_namespace_selector: labels,
      alias_name_source: 'serviceaccount_name',
      audience: 'vault',
      token_ttl: 600,
    })
    expect(complaints).toEqual([])
  })

  test('the status says whose token asks the cluster, and asks it', async () => {
    await at.config({ token_reviewer_jwt: 'nobody' })
    const { page, complaints } = await visit(`logins/${mount}/status`)
    const panel = page.getByRole('region', { name: /^The cluster can/ })
    await panel.getByText('configured').first().waitFor()

    await page.getByRole('button', { name: 'Ask the cluster now' }).click()
    await page.getByText('review_unauthorized').waitFor()
    await page.getByRole('heading', { name: 'The cluster cannot be asked: nobody can log in' }).waitFor()
    await page.getByRole('region', { name: 'Configuration' }).getByText(pods.cluster.url).waitFor()

    await expectAccessible(page)
    expect(complaints).toEqual([])
    await at.config()
  })

  test('an operator enables the method', async () => {
    const { page, complaints } = await visit('system/logins')
    const form = page.getByRole('region', { name: /Enable/ })
    await form.getByLabel('Type').selectOption('kubernetes')
    await form.getByRole('textbox', { name: 'Path' }).fill('cluster')

    await form.getByRole('button', { name: 'Enable' }).click()

    await expect
      .poll(async () => (await pods.server.root.read('sys/auth')).body.data?.['cluster/'])
      .toMatchObject({ type: 'kubernetes' })
    expect(complaints).toEqual([])
  })
})
