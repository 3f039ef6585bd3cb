import { type Document, parseAllDocuments, visit } from 'yaml'

/** What the labels of a namespace must be; there is at least one. */
export type Selector = Readonly<Record<string, string>>

const maxLength = 16 * 1024
const prefix = /^[a-z0-9](?:[-a-z0-9.]{0,251}[a-z0-9])?$/
const labelName = /^[A-Za-z0-9](?:[-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$/

/**
 * Reads a LabelSelector in JSON or YAML. Undefined if it is none, has anything but `matchLabels`, or selects
 * everything. docs/contract/kubernetes.md#selectors
 */
export function parseSelector(text: string): Selector | undefined {
  // a directive would change how values are read
  if (text.length > maxLength || /^%/m.test(text)) return undefined
  const selector = documentOf(text)
  const [member, ...others] = Object.entries(Object(selector))
  if (Array.isArray(selector) || member === undefined || others.length > 0) return undefined
  const [name, labels] = member
  if (name.toLowerCase() !== 'matchlabels' || typeof labels !== 'object' || Array.isArray(labels))
    return undefined
  const entries = Object.entries(labels ?? {})
  if (entries.length === 0 || !entries.every(([key, value]) => isLabelKey(key) && isLabelValue(value)))
    return undefined
  return Object.fromEntries(entries)
}

/** The one document in a text, which has neither anchors nor tags. */
function documentOf(text: string): unknown {
  // in this version, `yes` and `on` are no texts either: clusters read selectors so
  const documents = parseAllDocuments(text, { version: '1.1', merge: false, logLevel: 'silent' })
  const [document, ...others] = Array.isArray(documents) ? documents : []
  if (document === undefined || others.length > 0 || !isPlain(document)) return undefined
  return document.toJS()
}

function isPlain(document: Document.Parsed): boolean {
  if (document.errors.length > 0 || document.warnings.length > 0) return false
  let isPlainNode = true
  visit(document, {
    Alias: () => {
      isPlainNode = false
      return visit.BREAK
    },
    Node: (_key, node) => {
      const isMerge = 'source' in node && node.source === '<<'
      const hasAnchor = 'anchor' in node && node.anchor !== undefined
      if (node.tag === undefined && !hasAnchor && !isMerge) return undefined
      isPlainNode = false
      return visit.BREAK
    },
  })
  return isPlainNode
}

function isLabelKey(key: string): boolean {
  const [name = '', domain, ...others] = key.split('/').reverse()
  return others.length === 0 && labelName.test(name) && (domain === undefined || prefix.test(domain))
}

const isLabelValue = (value: unknown): value is string =>
  typeof value === 'string' && (value === '' || labelName.test(value))

/** Whether a namespace with these labels is selected. */
export const selects = (selector: Selector, labels: Readonly<Record<string, unknown>>): boolean =>
  Object.entries(selector).every(([name, value]) => Object.hasOwn(labels, name) && labels[name] === value)
