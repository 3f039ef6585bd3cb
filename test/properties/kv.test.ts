import fc from 'fast-check'
import { expect, test } from 'vitest'
import { newMount } from '../plugins/kv/kv-fixture.ts'
import type { Answer, Client, Json } from '../support/client.ts'
import { FakeClock } from '../support/fake-clock.ts'
import { sealKey } from '../support/replicas.ts'
import { many, rounds } from '../support/rounds.ts'
import { startTestServer, type TestServer } from '../support/start-server.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { type Expected, KvModel, knownLifetimes } from './kv-model.ts'

const paths = ['a', 'a/b', 'a/b/c', 'B', 'é'] as const
const aPath = fc.constantFrom(...paths)
const aNumber = fc.integer({ min: 1, max: 14 })
const numbers = fc.uniqueArray(aNumber, { minLength: 1, maxLength: 4 })
const aLimit = fc.constantFrom(0, 1, 2, 3, 12)
const aLifetime = fc.constantFrom(...knownLifetimes)
const aLeaf = fc.constantFrom<unknown>(null, 'text', 7, true, [1, null], {})
const someData = fc.option(
  fc.dictionary(
    fc.constantFrom('x', 'y', '__proto__z', 'data'),
    fc.oneof(aLeaf, fc.dictionary(fc.constantFrom('in', 'ner'), aLeaf, { maxKeys: 2 })),
    { maxKeys: 3 },
  ),
  { freq: 8 },
)
/** Which version a call says it has seen; `none`: it says nothing. */
const aCas = fc.constantFrom('none', 'none', 'none', 'right', 'right', 'early', 'late', 'zero')
const settings = { cas_required: fc.boolean(), metadata_cas_required: fc.boolean() }
const someSettings = fc
  .record(
    {
      ...settings,
      max_versions: aLimit,
      delete_version_after: aLifetime,
      custom_metadata: fc.dictionary(fc.constantFrom('k', 'l'), fc.constantFrom('v', 'w'), { maxKeys: 2 }),
    },
    { requiredKeys: [] },
  )
  .filter((chosen) => Object.keys(chosen).length > 0)
const somePatch = fc
  .record(
    {
      cas_required: fc.option(settings.cas_required),
      metadata_cas_required: fc.option(settings.metadata_cas_required),
      max_versions: fc.option(aLimit),
      delete_version_after: fc.option(aLifetime),
      custom_metadata: fc.option(
        fc.dictionary(fc.constantFrom('k', 'l'), fc.constantFrom('v', null), { maxKeys: 2 }),
      ),
    },
    { requiredKeys: [] },
  )
  .filter((chosen) => Object.keys(chosen).length > 0)
const someConfig = fc.record(
  {
    cas_required: fc.constantFrom(false, false, true),
    metadata_cas_required: fc.constantFrom(false, false, true),
    max_versions: aLimit,
    delete_version_after: fc.constantFrom(-1, ...knownLifetimes),
  },
  { requiredKeys: [] },
)

const kind = <const Kind extends string, Fields>(
  name: Kind,
  fields: { [Name in keyof Fields]: fc.Arbitrary<Fields[Name]> },
) => fc.tuple(aPath, fc.record<Fields>(fields)).map(([path, chosen]) => ({ kind: name, path, ...chosen }))

const aCall = fc.oneof(
  { weight: 12, arbitrary: kind('write', { data: someData, cas: aCas }) },
  { weight: 6, arbitrary: kind('patch', { data: someData, cas: aCas }) },
  {
    weight: 3,
    arbitrary: kind('writes at once', { data: someData, count: fc.integer({ min: 2, max: 12 }) }),
  },
  { weight: 3, arbitrary: kind('delete', {}) },
  { weight: 3, arbitrary: kind('delete versions', { numbers }) },
  { weight: 3, arbitrary: kind('undelete', { numbers }) },
  { weight: 2, arbitrary: kind('destroy', { numbers }) },
  { weight: 2, arbitrary: kind('remove', {}) },
  { weight: 4, arbitrary: kind('set metadata', { settings: someSettings, cas: aCas }) },
  { weight: 3, arbitrary: kind('patch metadata', { settings: somePatch, cas: aCas }) },
  { weight: 2, arbitrary: kind('configure', { config: someConfig }) },
  { weight: 2, arbitrary: kind('restore', { number: aNumber, cas: aCas }) },
  { weight: 2, arbitrary: kind('copy', { from: aPath, isWhole: fc.boolean() }) },
  { weight: 1, arbitrary: kind('move', { from: aPath }) },
  { weight: 4, arbitrary: kind('wait', { ms: fc.constantFrom(1, 10, 1_000, 89_999, 90_000, 3_600_000) }) },
  { weight: 1, arbitrary: kind('restart', {}) },
)

type Call = typeof aCall extends fc.Arbitrary<infer Value> ? Value : never

/** The number that a call names, if it names one. */
function named(cas: string, current: number): number | undefined {
  if (cas === 'none') return undefined
  if (cas === 'zero') return 0
  return cas === 'right' ? current : cas === 'late' ? current + 1 : Math.max(0, current - 1)
}

/** What the model tells about an answer. */
function told({ status, body }: Answer): Expected {
  const { errors, data, warnings } = Object(body)
  return {
    status,
    ...(errors !== undefined && { errors }),
    ...(data !== null && data !== undefined && { data: operationsIn(data) }),
    ...(warnings !== null && warnings !== undefined && { warnings }),
  }
}

/** The same without names and ids of those who have done something. */
const operationsIn = (data: Json): unknown =>
  JSON.parse(JSON.stringify(data), (_, value: unknown) => {
    const isActor =
      typeof value === 'object' && value !== null && 'client_id' in value && 'operation' in value
    return isActor ? value.operation : value
  })

const mergePatch = { 'Content-Type': 'application/merge-patch+json' }

class Life {
  readonly #model: KvModel
  readonly #mount: string
  readonly #clock: FakeClock

  constructor(mount: string, clock: FakeClock) {
    this.#mount = mount
    this.#clock = clock
    this.#model = new KvModel(clock.now())
  }

  /** Makes a call, and compares what it answers, and what its key is afterwards. */
  async play(root: Client, call: Call): Promise<void> {
    await this.#call(root, call)
    if (call.kind !== 'configure') await this.#compareKey(root, call.path)
  }

  async compareAll(root: Client): Promise<void> {
    for (const path of paths) {
      await this.#compareKey(root, path)
      await this.#same(root.read(this.#at('subkeys', path)), this.#model.readSubkeys(path))
      for (let number = 1; number <= this.#model.currentOf(path) + 1; number += 1)
        await this.#same(
          root.read(`${this.#at('data', path)}?version=${number}`),
          this.#model.read(path, number),
        )
    }
    for (const folder of ['', 'a/', 'a/b/', 'B/']) {
      const at = `${this.#mount}/metadata/${folder}`
      await this.#same(root.list(at), this.#model.list(folder))
      await this.#same(root.list(`${at}?exclude_deleted=true`), this.#model.listLiving(folder))
      await this.#same(root.read(`${at}?scan=true`), this.#model.scan(folder))
    }
    await this.#same(root.read(`${this.#mount}/detailed-metadata/?scan=true`), this.#model.details())
    await this.#same(root.read(`${this.#mount}/config`), this.#model.readConfig())
  }

  async #compareKey(root: Client, path: string): Promise<void> {
    await this.#same(root.read(this.#at('data', path)), this.#model.read(path))
    await this.#same(root.read(this.#at('metadata', path)), this.#model.readMetadata(path))
    const earlier = this.#model.currentOf(path) - 1
    if (earlier > 0)
      await this.#same(
        root.read(`${this.#at('data', path)}?version=${earlier}`),
        this.#model.read(path, earlier),
      )
  }

  async #call(root: Client, call: Call): Promise<void> {
    const model = this.#model
    const { path } = call
    const data = this.#at('data', path)
    const metadata = this.#at('metadata', path)
    const post = (name: string, body: object, expected: Expected) =>
      this.#same(root.write(this.#at(name, path), body), expected)
    const patched = (at: string, body: object) => root.call('PATCH', at, body, { headers: mergePatch })
    switch (call.kind) {
      case 'write': {
        const cas = named(call.cas, model.currentOf(path))
        const body = { data: call.data, ...(cas !== undefined && { options: { cas } }) }
        return this.#same(root.write(data, body), model.write(path, call.data, cas))
      }
      case 'patch': {
        const cas = named(call.cas, model.currentOf(path))
        const body = { data: call.data, ...(cas !== undefined && { options: { cas } }) }
        return this.#same(patched(data, body), model.patch(path, call.data, cas))
      }
      case 'writes at once': {
        const writes = Array.from({ length: call.count }, () => root.write(data, { data: call.data }))
        const expected = writes.map(() => model.write(path, call.data, undefined))
        const answers = (await Promise.all(writes)).map(told)
        expect(inOrder(answers)).toEqual(inOrder(expected))
        return
      }
      case 'delete':
        return this.#same(root.delete(data), model.delete(path))
      case 'delete versions':
        return post('delete', { versions: call.numbers }, model.delete(path, call.numbers))
      case 'undelete':
        return post('undelete', { versions: call.numbers }, model.undelete(path, call.numbers))
      case 'destroy':
        return post('destroy', { versions: call.numbers }, model.destroy(path, call.numbers))
      case 'remove':
        return this.#same(root.delete(metadata), model.remove(path))
      case 'set metadata': {
        const cas = named(call.cas, model.metadataVersionOf(path))
        const body = { ...call.settings, ...(cas !== undefined && { metadata_cas: cas }) }
        return this.#same(root.write(metadata, body), model.setMetadata(path, call.settings, cas))
      }
      case 'patch metadata': {
        const cas = named(call.cas, model.metadataVersionOf(path))
        const body = { ...call.settings, ...(cas !== undefined && { metadata_cas: cas }) }
        return this.#same(patched(metadata, body), model.patchMetadata(path, call.settings, cas))
      }
      case 'configure':
        return this.#same(root.write(`${this.#mount}/config`, call.config), model.setConfig(call.config))
      case 'restore': {
        const cas = named(call.cas, model.currentOf(path))
        const body = { version: call.number, ...(cas !== undefined && { options: { cas } }) }
        return post('restore', body, model.restore(path, call.number, cas))
      }
      case 'copy': {
        const body = { from: call.from, versions: call.isWhole ? 'all' : 'current' }
        return post('copy', body, model.copy(path, call.from, call.isWhole))
      }
      case 'move':
        await post('move', { from: call.from }, model.move(path, call.from))
        return this.#compareKey(root, call.from)
      case 'wait':
        this.#clock.advance(call.ms / 1000)
        model.now += call.ms
        return
      case 'restart':
        return
    }
  }

  #at(name: string, path: string): string {
    return `${this.#mount}/${name}/${encodeURI(path)}`
  }

  async #same(answer: Promise<Answer>, expected: Expected): Promise<void> {
    expect(told(await answer)).toEqual(expected)
  }
}

/** By the versions that they made. */
const inOrder = (answers: readonly Expected[]) => {
  const versionOf = ({ data }: Expected) => Number(Object(data).version ?? 0)
  return answers.toSorted((one, other) => versionOf(one) - versionOf(other))
}

test('random calls, clock steps and restarts leave what a plain model of version 2 leaves', {
  timeout: 120_000 * rounds,
}, async () => {
  await using folder = await temporaryFolder()
  const clock = new FakeClock(Date.UTC(2026, 0, 2, 12))
  const settings = { STORAGE: `sqlite:${folder.file('store.db')}`, SEAL_KEY: sealKey }
  let server: TestServer = await startTestServer({ clock, settings })
  const restart = async () => {
    await server[Symbol.asyncDispose]()
    server = await startTestServer({ clock, settings })
  }

  try {
    await fc.assert(
      fc.asyncProperty(fc.array(aCall, { minLength: 5, maxLength: 60, size: 'max' }), async (calls) => {
        const life = new Life(await newMount(server, 2), clock)
        for (const call of calls) {
          if (call.kind === 'restart') await restart()
          await life.play(server.root, call)
        }
        await life.compareAll(server.root)
      }),
      { numRuns: many(4, 7) * rounds },
    )
  } finally {
    await server[Symbol.asyncDispose]()
  }
})
