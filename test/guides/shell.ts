/** A command of a page: its words, given the values of variables. */
export type ShellCommand = (variables: ReadonlyMap<string, string>) => string[]

/**
 * The commands in the `sh` blocks of a page. Supports only the shell features that our pages use: quotes,
 * variables, continued lines, comments.
 */
export function commandsIn(markdown: string): ShellCommand[] {
  const blocks = [...markdown.matchAll(/^```sh\n(.*?)^```$/gms)].map(([, block = '']) => block)
  return blocks
    .flatMap((block) => splitCommands(block))
    .map((words) => (variables) => words.map((word) => word.map((part) => part(variables)).join('')))
}

type Part = (variables: ReadonlyMap<string, string>) => string

const literal =
  (text: string): Part =>
  () =>
    text

const variable =
  (name: string): Part =>
  (variables) => {
    const value = variables.get(name)
    if (value === undefined) throw new Error(`$${name} has no value`)
    return value
  }

const tokens =
  /\\\n|(?<blank>[ \t]+)|(?<end>\n)|'(?<plain>[^']*)'|"(?<quoted>(?:[^"\\]|\\.)*)"|\$\{?(?<name>\w+)\}?|\\(?<escaped>.)|(?<text>[^\s'"$\\]+)/gs

function splitCommands(block: string): Part[][][] {
  const commands: Part[][][] = []
  let words: Part[][] = []
  let word: Part[] | undefined
  const endWord = () => {
    if (word !== undefined) words.push(word)
    word = undefined
  }
  const endCommand = () => {
    endWord()
    if (words.length > 0) commands.push(words)
    words = []
  }
  for (const { groups = {}, index, 0: whole } of block.replace(/(^|[ \t])#.*$/gm, '').matchAll(tokens)) {
    if (groups['end'] !== undefined) endCommand()
    else if (groups['blank'] !== undefined || whole === '\\\n') endWord()
    else if (groups['plain'] !== undefined) word = [...(word ?? []), literal(groups['plain'])]
    else if (groups['quoted'] !== undefined) word = [...(word ?? []), ...quotedParts(groups['quoted'])]
    else if (groups['name'] !== undefined) word = [...(word ?? []), variable(groups['name'])]
    else
      word = [...(word ?? []), literal(groups['escaped'] ?? groups['text'] ?? block.slice(index, index + 1))]
  }
  endCommand()
  return commands
}

const quotedParts = (text: string): Part[] =>
  [...text.matchAll(/\$\{?(\w+)\}?|\\(["\\$`])|([^$\\]+|\\)/gs)].map(([, name, escaped, plain]) =>
    name === undefined ? literal(escaped ?? plain ?? '') : variable(name),
  )

/** What a `curl` command sends. */
export type CurlRequest = {
  readonly method: string
  readonly url: string
  readonly headers: Record<string, string>
  readonly body: string | undefined
}

/** Throws on an option our pages do not use. */
export function curlRequest([program, ...words]: readonly string[]): CurlRequest {
  if (program !== 'curl') throw new Error(`${program} is not curl`)
  const headers: Record<string, string> = {}
  const query: string[] = []
  let [url, method, body, isGet]: [string, string | undefined, string | undefined, boolean] = [
    '',
    undefined,
    undefined,
    false,
  ]
  for (let index = 0; index < words.length; index++) {
    const word = words[index] ?? ''
    const value = () => words[++index] ?? ''
    if (word === '-H') {
      const [name = '', text = ''] = value().split(/:\s*(.*)/s, 2)
      headers[name] = text
    } else if (word === '-d') body = value()
    else if (word === '-X') method = value()
    else if (word === '-G') isGet = true
    else if (word === '--data-urlencode') query.push(encoded(value()))
    else if (word.startsWith('-')) throw new Error(`unknown option ${word}`)
    else url = word
  }
  const target = query.length === 0 ? url : `${url}?${query.join('&')}`
  return { method: method ?? (body === undefined || isGet ? 'GET' : 'POST'), url: target, headers, body }
}

function encoded(pair: string): string {
  const at = pair.indexOf('=')
  return `${pair.slice(0, at)}=${encodeURIComponent(pair.slice(at + 1))}`
}
