import { expect, test, vi } from 'vitest'
import { Limiter } from '../../../src/lib/concurrency/limiter.ts'
import { systemRandom } from '../../../src/lib/system/random.ts'
import { KvMount } from '../../../src/plugins/kv/store/kv-mount.ts'
import { upgradeEntries } from '../../../src/plugins/kv/store/upgrade.ts'
import { openCoreView } from '../../support/core-view.ts'

test('upgrades of one mount that run at the same time write each entry once', async () => {
  await using opened = await openCoreView()
  const view = opened.barrier.view('mount/m/')
  const failed: unknown[] = []
  const onFailure = (error: unknown) => void failed.push(error)
  const parts = {
    clock: opened.clock,
    random: systemRandom,
    large: new Limiter(1),
    onFailure,
    onChange: () => {},
  }
  using mount = new KvMount(view, parts)
  const [first, keys] = [await mount.first.get(), await mount.keys.get()]
  const paths = ['a', 'b', 'c/d', 'e']
  for (const path of paths) await first.put(path, { data: `{"of":"${path}"}` }, () => {})
  const writes = vi.spyOn(view, 'write')

  const upgrade = { first, keys, random: systemRandom, most: 1_000, isEnded: () => false }
  await Promise.all(Array.from({ length: 5 }, () => upgradeEntries(upgrade)))

  expect(writes).toHaveBeenCalledTimes(paths.length)
  expect(await first.isEmpty()).toBe(true)
  for (const path of paths)
    expect((await keys.find(path))?.head).toMatchObject({ current: 1, last: { data: `{"of":"${path}"}` } })
  expect(failed).toEqual([])
})
