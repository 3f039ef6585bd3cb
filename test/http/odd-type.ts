import { refuse } from '../../src/errors.ts'
import type { PluginDefinition } from '../../src/http/resource/plugin.ts'
import { resource } from '../../src/http/resource/resource.ts'

/**
 * A mount type whose reads wait, fail, and respond in unusual ways; `gate` holds those of `wait` and
 * `bug-later`.
 */
export function oddType(gate: Gate): PluginDefinition {
  const name = 'a'
  const read = (path: string, handle: () => object | Promise<object>) =>
    resource(path, { help: 'Odd.', read: { summary: 'Odd', handle: async () => handle() } })
  return {
    table: 'secret',
    names: ['odd'],
    open: () => ({
      resources: [
        read('/plain', () => ({ data: { name } })),
        read('/wait', async () => {
          await gate.passed()
          return { data: { name } }
        }),
        read('/bug-later', async () => {
          await gate.passed()
          throw new Error('a bug')
        }),
        read('/bug', () => {
          throw new Error('a bug')
        }),
        read('/bug-of-nothing', () => {
          throw undefined
        }),
        read('/refused', () => {
          throw refuse('throttled', 'slower')
        }),
        read('/large', () => ({ data: { text: 'é'.repeat(1 << 20) } })),
        read('/headers', () => ({
          data: { name },
          headers: { 'cache-control': 'private', 'content-type': 'text/odd', 'x-odd': 'é' },
        })),
        read('/not-modified', () => ({ status: 304, headers: { etag: '"x"' } })),
        read('/unwritable', () => ({ data: { name }, headers: { 'x-odd': 'a\nb' } })),
        read('/document', () => ({
          raw: { status: 203, contentType: 'text/plain', body: 'é', cacheControl: 'max-age=1' },
        })),
        read('/empty-document', () => ({ raw: { status: 200, contentType: 'text/plain', body: '' } })),
        resource('/name/:name', {
          help: 'Odd.',
          read: { summary: 'Odd', handle: async ({ params }) => ({ data: params }) },
        }),
        resource('/name/fixed', {
          help: 'Odd.',
          read: { summary: 'Odd', handle: async () => ({ data: { fixed: true } }) },
        }),
        resource('/rest/*rest', {
          help: 'Odd.',
          read: { summary: 'Odd', handle: async ({ params }) => ({ data: params }) },
          list: {
            summary: 'Odd',
            handle: async ({ params }) => ({ data: { keys: ['a', 'b', params.rest] } }),
          },
          scan: { summary: 'Odd', handle: async ({ params }) => ({ data: { keys: ['c', params.rest] } }) },
        }),
        resource('/nothing', {
          help: 'Odd.',
          collection: true,
          read: { summary: 'Odd', handle: async () => undefined },
          list: { summary: 'Odd', handle: async () => ({ data: { keys: [] } }) },
        }),
      ],
    }),
  }
}

/** Holds callers until it is opened. */
export class Gate {
  #held: (() => void)[] = []
  #arrived: () => void = () => {}

  passed(): Promise<void> {
    return new Promise((resolve) => {
      this.#held.push(resolve)
      this.#arrived()
    })
  }

  /** Resolves when this many wait at it. */
  async holds(count: number): Promise<void> {
    while (this.#held.length < count) {
      await new Promise<void>((resolve) => {
        this.#arrived = resolve
      })
    }
  }

  open(): void {
    const held = this.#held
    this.#held = []
    for (const pass of held) pass()
  }
}
