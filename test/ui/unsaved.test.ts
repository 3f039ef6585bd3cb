import type { Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startTestServer, type TestServer } from '../support/start-server.ts'
import { expectAccessible, openAs } from './pages.ts'

let server: TestServer

beforeAll(async () => {
  server = await startTestServer()
  await server.root.write('sys/mounts/team', { type: 'kv-v2' })
  await server.root.write('team/data/db', { data: { password: 'first' } })
  for (let number = 100; number < 200; number += 1)
    await server.root.write(`team/data/many/name-${number}`, { data: {} })
})
afterAll(() => server[Symbol.asyncDispose]())

const open = (place: string) => openAs(`${server.url}/ui/#/${place}`, 'root')
const link = (page: Page, name: string) => page.getByRole('link', { name, exact: true })
const field = (page: Page, name: string) => page.getByRole('textbox', { name, exact: true })

test('leaving what is not saved asks first: by a link, the back button, a logout and the browser', async () => {
  await using opened = await open('secrets/team~')
  const { page, complaints } = opened
  const question = page.getByRole('alertdialog', { name: 'Leave without saving?' })
  const stay = () => question.getByRole('button', { name: 'Stay' }).click()
  await link(page, 'db').click()
  await page.getByRole('button', { name: 'Edit', exact: true }).click()
  await link(page, 'Home').click()
  await page.getByRole('heading', { name: 'Who I am' }).waitFor()
  await page.goBack()

  await page.getByRole('button', { name: 'Edit', exact: true }).click()
  await field(page, 'Value of password').fill('typed')
  await link(page, 'Home').click()
  await question.waitFor()
  await expectAccessible(page)
  await stay()
  await page.goBack()
  await stay()
  await page.getByRole('button', { name: 'Log out' }).click()
  await stay()
  const asked = page.waitForEvent('dialog')
  await page.close({ runBeforeUnload: true })
  const dialog = await asked
  expect(dialog.type()).toBe('beforeunload')
  await dialog.dismiss()
  expect(await field(page, 'Value of password').inputValue()).toBe('typed')

  await page.getByRole('button', { name: 'Save as version 2' }).click()
  await page.getByRole('region', { name: 'Version 2 (current)' }).waitFor()
  await link(page, 'Access').click()
  await link(page, 'default').click()
  await field(page, 'Policy').fill('path "a" {}')
  await link(page, 'Groups').click()
  await question.getByRole('button', { name: 'Leave' }).click()
  await page.getByRole('heading', { name: 'New group' }).waitFor()
  await field(page, 'Name').fill('half')
  await link(page, 'Home').click()
  await question.waitFor()
  expect(complaints).toEqual([])
})

test('somebody who goes elsewhere while something is saved stays there, and is asked no more once it is saved', async () => {
  await using opened = await open('messages/new')
  const { page, complaints } = opened
  const question = page.getByRole('alertdialog', { name: 'Leave without saving?' })
  const saveAndLeave = async () => {
    await page.getByRole('heading', { name: 'New message' }).waitFor()
    await field(page, 'Title').fill('Maintenance')
    await field(page, 'Text').fill('Back at two')
    const asked = Promise.withResolvers<void>()
    const held = Promise.withResolvers<void>()
    await page.route('**/v1/sys/config/ui/custom-messages', async (route) => {
      if (route.request().method() !== 'POST') return route.continue()
      asked.resolve()
      await held.promise
      await route.continue()
    })
    await page.getByRole('button', { name: 'Save' }).click()
    await asked.promise
    await link(page, 'Home').click()
    await question.waitFor()
    return held.resolve
  }
  const save = await saveAndLeave()
  await question.getByRole('button', { name: 'Leave' }).click()
  await page.getByRole('heading', { name: 'Who I am' }).waitFor()
  save()
  await page.getByRole('status').getByText('Saved', { exact: true }).waitFor({ state: 'attached' })
  const after = new URL(page.url()).hash

  await page.goto(`${server.url}/ui/#/messages/new`)
  const saveAgain = await saveAndLeave()
  saveAgain()
  await page.getByRole('heading', { name: 'Who I am' }).waitFor()

  expect(after).toBe('#/home')
  expect(await question.count()).toBe(0)
  expect(complaints).toEqual([])
})

test('a list that the back button leads to has its filter and its place; a filter without match says so', async () => {
  await using opened = await open('secrets/team~/many~')
  const { page } = opened
  const filter = page.getByRole('textbox', { name: 'Filter names' })
  const list = 'document.querySelector("[data-rows=folder]").parentElement'
  await filter.fill('name-1')
  await page.evaluate(`${list}.scrollTo(0, 1600)`)
  await link(page, 'name-150').click()
  await page.getByRole('heading', { name: 'name-150' }).waitFor()
  await page.goBack()
  await link(page, 'name-150').waitFor()
  expect(await filter.inputValue()).toBe('name-1')
  expect(await page.evaluate(`${list}.scrollTop`)).toBe(1600)

  await filter.fill('nothing like it')
  await page.getByText('No entry matches.').waitFor()
})

test('keys lead to views and filters, are listed, and can be turned off', async () => {
  await using opened = await open('home')
  const { page } = opened
  const { keyboard } = page
  await page.getByRole('heading', { name: 'Who I am' }).waitFor()
  await link(page, 'Messages').waitFor()
  // the pair has a time limit, whatever the page is busy with
  await Promise.all([keyboard.press('g'), keyboard.press('m')])
  await page.getByRole('heading', { name: 'Messages', exact: true }).waitFor()
  await page.goto(`${server.url}/ui/#/secrets/team~`)
  const filter = page.getByRole('textbox', { name: 'Filter names' })
  await filter.waitFor()
  await keyboard.press('/')
  await keyboard.type('g?s')
  expect(await filter.inputValue()).toBe('g?s')
  await link(page, 'Home').focus()
  await keyboard.press('?')
  const keys = page.getByRole('dialog', { name: 'Keys' })
  await keys.getByText('Secrets').waitFor()
  await expectAccessible(page)
  await keys.getByRole('checkbox', { name: 'Use these keys' }).uncheck()
  await keys.getByRole('button', { name: 'Close' }).click()
  await keyboard.press('/')

  expect(await filter.and(page.locator(':focus')).count()).toBe(0)
})

test('what is typed stays where it is typed: before all of the page is known, and in the middle of a filter', async () => {
  await using opened = await open('home')
  const { page } = opened
  await link(page, 'Messages').waitFor()
  const asked = Promise.withResolvers<void>()
  const held = Promise.withResolvers<void>()
  await page.route('**/v1/sys/internal/ui/mounts', async (route) => {
    asked.resolve()
    await held.promise
    await route.continue()
  })
  await page.goto(`${server.url}/ui/#/messages/new`)
  await page.reload()
  await asked.promise
  await field(page, 'Title').fill('Maintenance')
  const known = page.waitForResponse((response) => response.url().endsWith('/mounts'))
  held.resolve()
  await known
  await link(page, 'Secrets').waitFor()
  expect(await field(page, 'Title').inputValue()).toBe('Maintenance')

  await page.goto(`${server.url}/ui/#/secrets/team~/many~`)
  await page.getByRole('alertdialog').getByRole('button', { name: 'Leave' }).click()
  const filter = field(page, 'Filter names')
  await filter.fill('name-15')
  await link(page, 'name-100').waitFor({ state: 'detached' })
  await filter.press('Home')
  await page.keyboard.type('my-')
  await page.getByText('No entry matches.').waitFor()
  expect(await filter.inputValue()).toBe('my-name-15')
})
