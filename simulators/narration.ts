import { styleText } from 'node:util'
import { type Answer, send } from './operator.ts'

/** Who sends: with a token, or a stranger. */
export type Sender = { url: string; token?: string }

export type StepOptions = { expect: number; body?: unknown }

export type Narration = {
  chapter(title: string): void
  /** Sends one request and shows it with its answer. Throws when the status is not the expected one. */
  step(sender: Sender, method: string, path: string, options: StepOptions): Promise<Answer>
}

/** Shows requests and answers on standard output, with colours where it is a terminal. */
export function narrate(): Narration {
  const print = (text: string) => process.stdout.write(`${text}\n`)
  let chapters = 0
  return {
    chapter: (title) => print(`\n${styleText('bold', `${++chapters}. ${title}.`)}`),
    step: async (sender, method, path, { expect, body }) => {
      const as = sender.token === undefined ? '' : `   X-Vault-Token: ${shorten(sender.token)}`
      print(`\n${styleText('cyan', `  ${method} /v1/${path}`)}${styleText('dim', as)}`)
      if (body !== undefined) print(indent(readable(body)))
      const answer = await send(sender.url, { ...sender, method, path, body })
      print(styleText(answer.status < 300 ? 'green' : 'yellow', `  ${answer.status}`))
      if (answer.body !== undefined) print(indent(readable(answer.body)))
      if (answer.status !== expect) throw new Error(`expected ${expect}, the answer was ${answer.status}`)
      return answer
    },
  }
}

const indent = (text: string) => text.replaceAll(/^/gm, '    ')

/** JSON over several lines, flat lists on one; members that say nothing are left out, credentials are shortened. */
function readable(body: unknown): string {
  const text = JSON.stringify(body, (_, value: unknown) => (value === null || value === '' ? undefined : shortenText(value)), 2)
  return text.replaceAll(/\[\s+([^[\]{}]*?)\s+\]/g, (_, items: string) => `[${items.replaceAll(/,\s+/g, ', ')}]`)
}

const shortenText = (value: unknown) => (typeof value === 'string' ? shorten(value) : value)

/** Tokens and JWTs are shown by their first letters only. */
const shorten = (text: string): string => (/^(hv[sb]\.|eyJ)/.test(text) ? `${text.slice(0, 10)}… (${text.length} characters)` : text)
