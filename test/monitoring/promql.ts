import { parser } from '@prometheus-io/lezer-promql'

type Selector = {
  readonly metric: string
  readonly matchers: readonly { readonly label: string; readonly values: readonly string[] }[]
}

/** What a query reads, and the labels by which it groups and joins. Throws if it is no PromQL. */
export function readQuery(query: string): { selectors: Selector[]; groupedBy: string[] } {
  const selectors: { metric: string; matchers: { label: string; values: string[] }[] }[] = []
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
        const [, label = '', , value = ''] = /^(\w+)\s*(=~|!=|!~|=)\s*"(.*)"$/.exec(text) ?? []
        selector?.matchers.push({ label, values: value.startsWith('$') ? [] : value.split('|') })
      }
      if (name === 'LabelName' && node.parent?.name === 'GroupingLabels') groupedBy.push(text)
    },
  })
  if (broken.length > 0) throw new Error(`not PromQL: ${broken.join()}`)
  return { selectors, groupedBy }
}
