import { parser } from '@prometheus-io/lezer-promql'

type Matcher = { readonly label: string; readonly operator: string; readonly value: string }
type Selector = { readonly metric: string; readonly matchers: readonly Matcher[] }

/** What a query reads, and the labels by which it groups and joins. Throws if it is no PromQL. */
export function readQuery(query: string): { selectors: Selector[]; groupedBy: string[] } {
  const selectors: { metric: string; matchers: Matcher[] }[] = []
  const groupedBy: string[] = []
  const broken: string[] = []
  parser.parse(query).iterate({
    enter: ({ name, from, to, type, node }) => {
      const text = query.slice(from, to)
      if (type.isError) broken.push(`${from}: ${query}`)
      if (name === 'VectorSelector') selectors.push({ metric: '', matchers: [] })
      const selector = selectors.at(-1)
      if (name === 'Identifier' && selector !== undefined) selector.metric = text
      if (name === 'UnquotedLabelMatcher') {
        const [, label = '', operator = '', value = ''] = /^(\w+)\s*(=~|!=|!~|=)\s*"(.*)"$/.exec(text) ?? []
        selector?.matchers.push({ label, operator, value })
      }
      if (name === 'LabelName' && node.parent?.name === 'GroupingLabels') groupedBy.push(text)
    },
  })
  if (broken.length > 0) throw new Error(`not PromQL: ${broken.join()}`)
  return { selectors, groupedBy }
}

/** Whether a selector takes a label with this value. A variable of the dashboard takes any. */
export function takes({ operator, value }: Matcher, seen: string): boolean {
  if (value.startsWith('$')) return true
  if (operator === '=') return seen === value
  if (operator === '!=') return seen !== value
  const isMatch = new RegExp(`^(?:${value})$`).test(seen)
  return operator === '=~' ? isMatch : !isMatch
}
