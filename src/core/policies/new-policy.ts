import { ServiceError } from '../../errors.ts'
import { quoted } from '../../lib/text/go-text.ts'
import { type ParsedPolicy, parsePolicy } from './policy.ts'
import { type Position, policyFault, syntaxFault } from './policy-syntax.ts'

/**
 * Parses the text of a policy that somebody writes. It refuses more than `parsePolicy`, which also reads what
 * was stored before a refusal existed. Throws `invalid`.
 */
export function parseNewPolicy(text: string): ParsedPolicy {
  checkNullCharacter(text)
  const parsed = parsePolicy(text)
  for (const { label, unbuiltLimits } of parsed.stanzas) {
    const path = 'pattern' in label ? label.pattern.text : label.template.literals.join('{{…}}')
    if (path.includes('\0')) throw policyFault(`path ${JSON.stringify(path)} contains a null character`)
    const [limit] = unbuiltLimits
    if (limit !== undefined)
      throw policyFault(
        `path ${quoted(path)}: ${quoted(limit)} would limit what it grants, and is not supported`,
      )
  }
  return parsed
}

function checkNullCharacter(text: string): void {
  const at = text.indexOf('\0')
  if (at === -1) return
  const before = text.slice(0, at)
  if (!text.trimStart().startsWith('{')) {
    try {
      parsePolicy(before)
    } catch (error) {
      if (error instanceof ServiceError && error.message.endsWith('literal not terminated')) throw error
    }
  }
  throw syntaxFault(positionAfter(before), 'unexpected null character (0x00)')
}

const positionAfter = (text: string): Position => ({
  line: text.split('\n').length,
  column: text.length - text.lastIndexOf('\n'),
})
