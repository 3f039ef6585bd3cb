import { expect, test } from 'vitest'
import { Limiter } from '../../../src/lib/concurrency/limiter.ts'
import { systemRandom } from '../../../src/lib/system/random.ts'
import { readKvConfig } from '../../../src/plugins/kv/store/kv-config.ts'
import { KvMount } from '../../../src/plugins/kv/store/kv-mount.ts'
import { append, softDelete } from '../../../src/plugins/kv/store/version-changes.ts'
import { openCoreView } from '../../support/core-view.ts'

const by = { actor: 'root', entity_id: '', operation: 'create' }
const client = { whenGone: () => () => {} }
const config = (maxVersions: number) => ({ ...readKvConfig(undefined), maxVersions })

/** The keys of a mount, one of which has so many versions of this data. */
async function openKeys(count: number, data = '{}') {
  await using opened = new AsyncDisposableStack()
  const { view, clock } = opened.use(await openCoreView())
  const mount = opened.use(
    new KvMount(view, {
      clock,
      random: systemRandom,
      large: new Limiter(1),
      onFailure: (error) => {
        throw error
      },
      onChange: () => {},
    }),
  )
  const keys = await mount.keys.get()
  const write = (most = config(100_000)) =>
    keys.change('a', { apply: (draft) => append(draft, { data, by, config: most, id: 'id' }) })
  await keys.change('a', {
    apply: (draft) => {
      for (let made = 0; made < count; made += 1)
        append(draft, { data, by, config: config(100_000), id: 'id' })
    },
  })
  const held = opened.move()
  return { view, keys, write, [Symbol.asyncDispose]: () => held.disposeAsync() }
}

test('many versions that leave the window at once are deleted in the same step', async () => {
  await using opened = await openKeys(2_500, `"${'x'.repeat(5_000)}"`)
  const { view, keys, write } = opened

  await write(config(2))

  const described = await keys.described('a', client)
  expect([...(described?.versions.keys() ?? [])]).toEqual([2_500, 2_501])
  const stored = await keys.find('a')
  expect(stored && (await keys.version(stored, 2_499))).toBeUndefined()
  expect(await view.listKeys('v/')).toEqual(['v/id/0000002500'])
  expect(await view.listKeys('d/')).toEqual(['d/id/0000002500'])
})

test('a change of more than 16,384 versions is refused', async () => {
  await using opened = await openKeys(16_386)
  const { keys } = opened
  const deleted = (count: number) => {
    const versions = Array.from({ length: count }, (_, at) => at + 1)
    return keys.change('a', { versions, apply: (draft) => softDelete(draft, versions, by) })
  }

  await expect(deleted(16_385)).rejects.toMatchObject({ kind: 'invalid' })
  await deleted(16_384)

  const { versions } = (await keys.described('a', client)) ?? { versions: new Map() }
  expect([versions.get(16_384)?.deletedBy, versions.get(16_385)?.deletedBy]).toEqual([by, undefined])
})
