import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { rootNamespace } from '../../../src/core/namespaces/namespace.ts'
import { systemRandom } from '../../../src/lib/system/random.ts'
import { stringifyJson } from '../../../src/lib/text/json.ts'
import { formatInstant } from '../../../src/lib/text/time.ts'
import { instantOf, isActive } from '../../../src/plugins/custom-messages/active-window.ts'
import { isFor, type Viewer } from '../../../src/plugins/custom-messages/audience.ts'
import { Lineages } from '../../../src/plugins/custom-messages/lineages.ts'
import { byStart, type Message, type MessageDraft } from '../../../src/plugins/custom-messages/message.ts'
import { MessageStore } from '../../../src/plugins/custom-messages/message-store.ts'
import { shownEntry } from '../../../src/plugins/custom-messages/message-view.ts'
import { ShownMessages } from '../../../src/plugins/custom-messages/shown-messages.ts'
import { openCoreView } from '../../support/core-view.ts'

const child = { ...rootNamespace, id: 'child1', path: 'child/' }
const places = [rootNamespace, child]
const lineageOf = ({ id }: { id: string }) => (id === child.id ? [rootNamespace, child] : [rootNamespace])

async function fixture() {
  const core = await openCoreView()
  const messages = new MessageStore({ view: core.view, random: systemRandom })
  const lineages = new Lineages({ messages, namespaces: { lineageOf }, clock: core.clock })
  const shown = new ShownMessages({ messages, lineages, clock: core.clock })
  return { ...core, messages, shown }
}

const viewerWith = (...policies: string[]): Viewer => ({
  policies: new Map([['root', new Set(policies)]]),
  entityIds: new Set(),
  groupIds: new Set(),
})
const viewers = [viewerWith(), viewerWith('a'), viewerWith('b'), viewerWith('a', 'b')]

/** The expected result of docs/contract/messages.md#front-ends, computed without a cache. */
function expected(
  all: ReadonlyMap<string, readonly Message[]>,
  namespace: { id: string },
  { now, viewer }: { now: number; viewer: Viewer | undefined },
) {
  const line = lineageOf(namespace).toReversed()
  const seen = line.flatMap(({ id }, index) =>
    (all.get(id) ?? [])
      .filter(({ authenticated }) => authenticated === (viewer !== undefined))
      .filter(
        ({ audience }) =>
          viewer === undefined ||
          isFor(
            audience,
            viewer,
            line.slice(index).map((one) => one.id),
          ),
      )
      .toSorted((a, b) => (b.priority ?? 0) - (a.priority ?? 0) || byStart(a, b)),
  )
  const active = seen.filter((message) => isActive(message, instantOf(now)))
  const bounds = seen.flatMap(({ start, end }) => [
    ...(start >= instantOf(now) ? [start] : []),
    ...(end !== undefined && end > instantOf(now) ? [end] : []),
  ])
  const data = {
    keys: active.map(({ id }) => id),
    key_info: Object.fromEntries(active.map((message) => [message.id, shownEntry(message)])),
  }
  return {
    text: active.length === 0 ? '{}' : stringifyJson(data),
    next: bounds.sort((a, b) => (a < b ? -1 : 1))[0],
  }
}

const draft = (origin: number) =>
  fc
    .record<MessageDraft, keyof MessageDraft>(
      {
        title: fc.string({ maxLength: 4 }),
        message: fc.constant('SGk='),
        type: fc.constantFrom('banner', 'modal'),
        authenticated: fc.boolean(),
        start: fc.integer({ min: -4, max: 4 }).map((ms) => instantOf(origin + ms)),
        end: fc.option(
          fc.integer({ min: 5, max: 9 }).map((ms) => instantOf(origin + ms) + 1n),
          { nil: undefined },
        ),
        link: fc.constantFrom(null, { title: 'x', href: 'javascript:1' }, { title: 'x', href: '/y' }),
        options: fc.constant(null),
        priority: fc.integer({ min: -1, max: 1 }),
        audience: fc.constantFrom({}, { policies: ['a'] }, { policies: ['b', 'c'] }),
      },
      { requiredKeys: ['title', 'message', 'type', 'authenticated', 'start', 'end', 'link', 'options'] },
    )
    // a message before login has no audience
    .map(
      ({ audience, ...rest }): MessageDraft =>
        rest.authenticated && audience !== undefined ? { ...rest, audience } : rest,
    )

type Step =
  | { do: 'create'; place: number; draft: MessageDraft }
  | { do: 'delete'; place: number }
  | { do: 'wait'; ms: number }

const step = (origin: number): fc.Arbitrary<Step> =>
  fc.oneof(
    fc.record({ do: fc.constant('create' as const), place: fc.nat(1), draft: draft(origin) }),
    fc.record({ do: fc.constant('delete' as const), place: fc.nat(1) }),
    fc.record({ do: fc.constant('wait' as const), ms: fc.integer({ min: -2, max: 3 }) }),
  )

describe('what is shown', () => {
  test('always follows the rules for the messages and the moment, and two tags are equal exactly when the data is', async () => {
    const origin = Date.UTC(2026, 0, 2, 3, 4, 5, 250)
    const tagByText = new Map<string, string>()
    const textByTag = new Map<string, string>()
    await fc.assert(
      fc.asyncProperty(fc.array(step(origin), { maxLength: 12 }), async (steps) => {
        await using here = await fixture()
        for (const one of steps) {
          if (one.do === 'wait') here.clock.advance(one.ms / 1000)
          const place = one.do === 'wait' ? undefined : places[one.place]?.id
          if (one.do === 'create' && place !== undefined) await here.messages.create(place, one.draft)
          const first = place === undefined ? undefined : (await here.messages.listOf(place))[0]
          if (one.do === 'delete' && place !== undefined && first !== undefined)
            await here.messages.delete(place, first.id)

          const all = new Map(
            await Promise.all(places.map(async ({ id }) => [id, await here.messages.listOf(id)] as const)),
          )
          for (const namespace of places) {
            for (const viewer of [undefined, ...viewers]) {
              const rules = expected(all, namespace, { now: here.clock.now(), viewer })
              const shown =
                viewer === undefined
                  ? await here.shown.beforeLogin(namespace)
                  : await here.shown.afterLogin(namespace, async () => viewer)
              expect(shown.text).toBe(rules.text)
              expect(shown.nextChange).toBe(rules.next === undefined ? undefined : formatInstant(rules.next))
              expect(tagByText.get(shown.text) ?? shown.etag).toBe(shown.etag)
              expect(textByTag.get(shown.etag) ?? shown.text).toBe(shown.text)
              tagByText.set(shown.text, shown.etag)
              textByTag.set(shown.etag, shown.text)
            }
          }
        }
      }),
      { numRuns: 60 },
    )
  })

  test('is serialized once for all callers until something changes', async () => {
    await using here = await fixture()
    await here.messages.create('root', {
      title: 't',
      message: '',
      type: 'banner',
      authenticated: false,
      start: 0n,
      end: undefined,
      link: null,
      options: null,
    })

    const first = await here.shown.beforeLogin(child)
    const second = await here.shown.beforeLogin(child)

    expect(second).toBe(first)
  })

  test.each([{}, { authenticated: true, audience: { policies: ['a'] } }])(
    'is serialized once even when it exceeds the cache: %j',
    async (more) => {
      await using here = await fixture()
      const long = 'QUJD'.repeat(5 * 1024 * 1024)
      const draft = {
        title: 't',
        message: long,
        type: 'banner',
        authenticated: false,
        start: 0n,
        end: undefined,
        link: null,
        options: null,
      } as const
      await here.messages.create('root', { ...draft, ...more })
      const ask = async (viewer: Viewer) =>
        'audience' in more
          ? here.shown.afterLogin(rootNamespace, async () => viewer)
          : here.shown.beforeLogin(rootNamespace)

      const first = await ask(viewerWith('a'))

      expect(first.text).toContain(long)
      expect(await ask(viewerWith('a', 'b'))).toBe(first)
    },
  )

  test('the caller is looked up only when a message has an audience', async () => {
    await using here = await fixture()
    const common = {
      title: 't',
      message: '',
      type: 'banner',
      authenticated: true,
      start: 0n,
      end: undefined,
      link: null,
      options: null,
    } as const
    await here.messages.create('root', common)
    let asked = 0
    const find = async () => {
      asked += 1
      return viewerWith()
    }

    await here.shown.afterLogin(rootNamespace, find)
    expect(asked).toBe(0)
    await here.messages.create('child1', { ...common, audience: { policies: ['a'] } })
    await here.shown.afterLogin(rootNamespace, find)
    expect(asked).toBe(0)
    await here.shown.afterLogin(child, find)
    expect(asked).toBe(1)
  })

  test('more callers than the cache holds each see their own messages', async () => {
    await using here = await fixture()
    const common = {
      title: 't',
      message: '',
      type: 'banner',
      authenticated: true,
      start: 0n,
      end: undefined,
      link: null,
      options: null,
    } as const
    const names = Array.from({ length: 20 }, (_, index) => `p${index}`)
    const ids = new Map<string, string>()
    for (const name of names)
      ids.set(name, (await here.messages.create('root', { ...common, audience: { policies: [name] } })).id)

    for (const name of [...names, ...names]) {
      const { text } = await here.shown.afterLogin(rootNamespace, async () => viewerWith(name))
      expect(JSON.parse(text)).toMatchObject({ keys: [ids.get(name)] })
    }
  })
})
