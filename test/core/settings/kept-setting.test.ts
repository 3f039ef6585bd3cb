import { expect, test } from 'vitest'
import { allowedHeaders, readCorsSettings } from '../../../src/core/settings/cors-settings.ts'
import { KeptSetting } from '../../../src/core/settings/kept-setting.ts'
import { openCoreView } from '../../support/core-view.ts'

const settings = { origins: ['https://a.example'], headers: ['X-Mine'], credentials: true }

async function openStore(fixture: Awaited<ReturnType<typeof openCoreView>>) {
  const failures: unknown[] = []
  const store = await KeptSetting.open({
    view: fixture.view,
    key: 'cors',
    parse: readCorsSettings,
    onFailure: (error) => failures.push(error),
  })
  return { store, failures }
}

test('a stored configuration is in effect at once and after reopening', async () => {
  await using fixture = await openCoreView()
  const { store } = await openStore(fixture)

  await store.put(settings)

  expect(store.current).toBe(settings)
  expect((await openStore(fixture)).store.current).toEqual(settings)
})

test('a deleted configuration stays deleted', async () => {
  await using fixture = await openCoreView()
  const { store } = await openStore(fixture)
  await store.put(settings)

  await store.put(undefined)

  expect(store.current).toBeUndefined()
  expect((await openStore(fixture)).store.current).toBeUndefined()
})

test('an invalid record is reported, serves no origin and can be overwritten', async () => {
  await using fixture = await openCoreView()
  await fixture.view.write([{ key: 'cors', value: { origins: '*' } }])

  const { store, failures } = await openStore(fixture)

  expect(failures).toHaveLength(1)
  expect(store.current).toBeUndefined()
  await expect(store.read()).rejects.toThrow()
  await store.put(settings)
  expect(await store.read()).toEqual(settings)
})

test('a configuration that could not be stored is not in effect', async () => {
  const fixture = await openCoreView()
  const { store } = await openStore(fixture)
  await store.put(settings)
  await fixture[Symbol.asyncDispose]()

  await expect(store.put({ ...settings, origins: ['*'] })).rejects.toThrow()

  expect(store.current).toBe(settings)
})

test('a header is allowed once, whatever its case', () => {
  const headers = allowedHeaders({ headers: ['X-Mine', 'x-mine', 'CONTENT-TYPE', 'If-None-Match'] })

  expect(headers.filter((name) => /^(?:x-mine|content-type|if-none-match)$/i.test(name))).toEqual([
    'Content-Type',
    'If-None-Match',
    'X-Mine',
  ])
})
