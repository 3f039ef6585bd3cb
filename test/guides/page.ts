import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'vitest'
import type { Answer } from '../support/client.ts'
import type { TestServer } from '../support/start-server.ts'
import { commandsIn, curlRequest } from './shell.ts'

/** The folder of the pages. */
export const providerPages = join(import.meta.dirname, '../../docs/providers')

export const readPage = (name: string): string => readFileSync(join(providerPages, `${name}.md`), 'utf8')

/** A page as a reader works through it. */
export type Reader = {
  /** The reader's variables; those of the stand-in override those of the page. */
  readonly variables: Map<string, string>
  /** The response to the last command with this path end. */
  answer(pathEnd: string): Answer
  /** Repeats a command of the page with the current variables. */
  again(pathEnd: string): Promise<Answer>
}

export type Steps = {
  /** Values that a reader who has the provider would have. */
  readonly given: Readonly<Record<string, string>>
  /** Called with each response, from which a reader takes values. */
  after?(path: string, answer: Answer, variables: Map<string, string>): void
}

/** Sends every request of a page, in order; all of them must succeed. */
export async function workThrough(
  page: string,
  server: TestServer,
  { given, after }: Steps,
): Promise<Reader> {
  const own = new Map(Object.entries({ VAULT_ADDR: server.url, VAULT_TOKEN: 'root', ...given }))
  const answers: [path: string, answer: Answer][] = []
  const send = async (words: readonly string[]): Promise<Answer> => {
    const { method, url, headers, body } = curlRequest(words)
    expect(url.startsWith(`${server.url}/v1/`), url).toBe(true)
    return server.anonymous.call(method, url.slice(server.url.length), undefined, {
      headers,
      ...(body === undefined ? {} : { raw: body }),
    })
  }
  const commands = commandsIn(page)
  const pathOf = (words: readonly string[]) => new URL(curlRequest(words).url).pathname.slice('/v1/'.length)
  for (const command of commands) {
    const first = command(anything)[0]
    if (first === 'export') {
      for (const assignment of command(own).slice(1)) {
        const [name = '', value = ''] = assignment.split(/=(.*)/s)
        if (!own.has(name)) own.set(name, value)
      }
      continue
    }
    const answer = await send(command(own))
    const path = pathOf(command(own))
    expect([200, 204], `${path}: ${answer.text}`).toContain(answer.status)
    answers.push([path, answer])
    after?.(path, answer, own)
  }
  return {
    variables: own,
    answer: (pathEnd) => {
      const found = answers.findLast(([path]) => path.endsWith(pathEnd))
      if (found === undefined) throw new Error(`the page asks nothing of ${pathEnd}`)
      return found[1]
    },
    again: async (pathEnd) => {
      const command = commands.find(
        (each) => each(anything)[0] === 'curl' && pathOf(each(own)).endsWith(pathEnd),
      )
      if (command === undefined) throw new Error(`the page asks nothing of ${pathEnd}`)
      return send(command(own))
    },
  }
}

/** Has a value for every variable, to inspect a command before its turn. */
const anything: ReadonlyMap<string, string> = new (class extends Map<string, string> {
  override get(name: string): string {
    return name === 'VAULT_ADDR' ? 'http://any' : name
  }
})()

/** The first column of the table of refusals: a reason, or the text of a response. */
export function namedRefusals(page: string): string[] {
  const [, table = ''] = page.split('| `reason` | what happened | what to do |\n')
  return [...table.matchAll(/^\| `([^`]+)`/gm)].map(([, name = '']) => name)
}
