import { styleText } from 'node:util'
import { type Answer, exchange, send } from './operator.ts'

/** The sender of a request; without a token, an anonymous one. */
export type Sender = { url: string; token?: string }

type StepOptions = {
  expect: number
  body?: unknown
  headers?: Record<string, string>
  /** Selects the part of the response to print; default all of it. */
  show?: (body: Record<string, unknown>) => unknown
}

type VisitOptions = Pick<StepOptions, 'expect' | 'show'> & {
  token?: string
  /** Sent as a form. */
  form?: Record<string, string>
}

export type Narration = {
  chapter(title: string): void
  /** Prints a remark about something that happens outside a request. */
  aside(text: string): void
  /** Sends one request and prints it with its response. Throws if the status is not the expected one. */
  step(sender: Sender, method: string, path: string, options: StepOptions): Promise<Answer>
  /** The same for a service other than Gatehouse. */
  visit(method: string, url: string, options: VisitOptions): Promise<Answer>
}

/** Prints requests and responses on standard output, in colour on a terminal. */
export function narrate(): Narration {
  const print = (text: string) => process.stdout.write(`${text}\n`)
  let chapters = 0

  function printRequest(line: string, colour: 'cyan' | 'magenta', body: unknown): void {
    print(`\n${line.replace(/^ {2}\S+ \S+/, (start) => styleText(colour, start))}`)
    if (body !== undefined) print(indent(readable(body)))
  }

  function printResponse(
    answer: Answer,
    { expect, show = (body) => body }: Pick<StepOptions, 'expect' | 'show'>,
  ): Answer {
    print(
      styleText(answer.status < 400 ? 'green' : 'yellow', `  ${answer.status}`) +
        shownHeaders(printedHeaders.map((name) => [name, answer.headers.get(name)])),
    )
    const isExpected = answer.status === expect
    if (answer.body !== undefined) print(indent(readable(isExpected ? show(answer.body) : answer.body)))
    if (!isExpected) throw new Error(`expected status ${expect}, got ${answer.status}`)
    return answer
  }

  return {
    chapter: (title) => print(`\n${styleText('bold', `${++chapters}. ${title}.`)}`),
    aside: (text) => print(`\n  ${styleText('dim', text)}`),
    step: async (sender, method, path, { body, headers = {}, ...rest }) => {
      const token = sender.token === undefined ? null : shorten(sender.token)
      printRequest(
        `  ${method} /v1/${path}${shownHeaders([['X-Vault-Token', token], ...Object.entries(headers)])}`,
        'cyan',
        body,
      )
      return printResponse(await send(sender.url, { ...sender, method, path, headers, body }), rest)
    },
    visit: async (method, url, { token, form, ...rest }) => {
      printRequest(`  ${method} ${url}`, 'magenta', form)
      const headers = token === undefined ? {} : { authorization: `Bearer ${token}` }
      return printResponse(
        await exchange(url, { method, headers, ...(form && { body: new URLSearchParams(form) }) }),
        rest,
      )
    },
  }
}

/** The response headers to print. */
const printedHeaders = ['ETag', 'X-Next-Change-At']

const shownHeaders = (headers: readonly [name: string, value: string | null][]) =>
  headers.map(([name, value]) => (value === null ? '' : `   ${name}: ${value}`)).join('')

const indent = (text: string) => text.replaceAll(/^/gm, '    ')

/**
 * JSON over several lines, flat lists on one line; omits null and empty members, and shortens credentials.
 */
function readable(body: unknown): string {
  const text = JSON.stringify(
    body,
    (name, value: unknown) => (value === null || value === '' ? undefined : shortenText(name, value)),
    2,
  )
  return text.replaceAll(
    /\[\s+([^[\]{}]*?)\s+\]/g,
    (_, items: string) => `[${items.replaceAll(/,\s+/g, ', ')}]`,
  )
}

function shortenText(name: string, value: unknown): unknown {
  if (typeof value !== 'string') return value
  return name.endsWith('client_secret') || name === 'token_reviewer_jwt'
    ? `${value.slice(0, 4)}… (${value.length} characters)`
    : shorten(value)
}

/** Shows only the first characters of tokens and JWTs. */
const shorten = (text: string): string =>
  /^(hv[sb]\.|eyJ)/.test(text) ? `${text.slice(0, 10)}… (${text.length} characters)` : text
