const capabilities = ['create', 'read', 'update', 'patch', 'delete', 'list', 'scan', 'sudo', 'deny']

/** A place in the text of a policy where something can be completed. */
export type Completion = {
  readonly kind: 'rule' | 'path' | 'capability'
  /** The text that an option replaces. */
  readonly from: number
  readonly to: number
  readonly typed: string
  readonly options: readonly string[]
}

const tokens = /#[^\n]*|\/\/[^\n]*|\/\*[\s\S]*?(?:\*\/|$)|"(?:[^"\\\n]|\\.)*"?|[{}[\]]|\w+/g

/** The texts that can stand at the caret of a policy; undefined if there is nothing to complete. */
export function completionAt(
  policy: string,
  caret: number,
  paths: readonly string[],
): Completion | undefined {
  const { depth, word, list, last } = stateAt(policy.slice(0, caret))
  if (last.startsWith('#') || last.startsWith('/')) return undefined
  if (last.startsWith('"')) {
    const from = caret - last.length + 1
    const typed = last.slice(1)
    if (depth === 0 && word === 'path')
      return withOptions({ kind: 'path', from, to: caret + restOf(policy, caret, /^[^"\s{]*/), typed }, paths)
    if (list?.name !== 'capabilities') return undefined
    const to = caret + restOf(policy, caret, /^\w*/)
    return withOptions({ kind: 'capability', from, to, typed }, unlisted(policy, list.from, from, to))
  }
  const from = caret - last.length
  const to = caret + restOf(policy, caret, /^\w*/)
  if (list?.name === 'capabilities' && /[[,]\s*$/.test(policy.slice(0, from)))
    return withOptions({ kind: 'capability', from, to, typed: last }, unlisted(policy, list.from, from, to))
  const line = policy.slice(policy.lastIndexOf('\n', caret - 1) + 1).split('\n', 1)[0] ?? ''
  if (depth === 0 && line.trim() === last)
    return withOptions({ kind: 'rule', from, to, typed: last }, ['path'])
  return undefined
}

type State = {
  /** Braces that are open. */
  readonly depth: number
  /** The word before the caret, or before the text in which it is. */
  readonly word: string
  readonly list: { readonly name: string; readonly from: number } | undefined
  /** The word, the comment or the open text that ends at the caret. */
  readonly last: string
}

function stateAt(before: string): State {
  let state: State = { depth: 0, word: '', list: undefined, last: '' }
  for (const { 0: token, index } of before.matchAll(tokens)) {
    const isAtCaret = index + token.length === before.length
    const isWhole = /^"(?:[^"\\]|\\.)*"$|\*\/$|^[{}[\]]$/.test(token)
    const last = isAtCaret && !isWhole ? token : ''
    if (token === '{') state = { ...state, depth: state.depth + 1, word: '', last }
    else if (token === '}') state = { ...state, depth: state.depth - 1, word: '', last }
    else if (token === '[') state = { ...state, list: { name: state.word, from: index + 1 }, last }
    else if (token === ']') state = { ...state, list: undefined, last }
    else if (/^\w/.test(token)) state = { ...state, word: token, last }
    else state = { ...state, last }
  }
  return state
}

const restOf = (policy: string, caret: number, rest: RegExp): number =>
  rest.exec(policy.slice(caret))?.[0].length ?? 0

/** The capabilities that the list does not have elsewhere. */
function unlisted(policy: string, start: number, from: number, to: number): readonly string[] {
  const end = policy.slice(to).search(/[\]\n}]/)
  const others = `${policy.slice(start, from)} ${policy.slice(to, end === -1 ? undefined : to + end)}`
  return capabilities.filter((name) => !new RegExp(`\\b${name}\\b`).test(others))
}

/** Those that begin with what is typed come first. */
function withOptions(place: Omit<Completion, 'options'>, choices: readonly string[]): Completion | undefined {
  const typed = place.typed.toLowerCase()
  const found = choices.filter((choice) => choice !== place.typed && choice.toLowerCase().includes(typed))
  const options = found.toSorted((a, b) => Number(b.startsWith(typed)) - Number(a.startsWith(typed)))
  return options.length === 0 ? undefined : { ...place, options }
}

/** An option as text: what it replaces, and where the caret is afterwards, counted from `from`. */
export function insertionOf(policy: string, { kind, from, to }: Completion, option: string) {
  if (kind === 'rule') return { from, to, text: 'path ""', caret: 'path "'.length }
  const isOpen = policy[from - 1] === '"'
  const end = policy[to] === '"' ? to + 1 : to
  const text = `${isOpen ? '' : '"'}${option}"`
  if (kind === 'capability' || /^\s*\{/.test(policy.slice(end)))
    return { from, to: end, text, caret: text.length }
  const begun = `${text} {\n  capabilities = [`
  return { from, to: end, text: `${begun}]\n}`, caret: begun.length }
}
