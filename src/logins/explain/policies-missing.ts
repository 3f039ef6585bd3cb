import { sanitize } from '../../core/tokens/store/policy-names.ts'
import type { TokenSettings } from '../../core/tokens/store/token-fields.ts'
import { excerpt } from '../../lib/text/go-text.ts'

/** What a linter says of a role's policies that do not exist; empty if they all do. */
export async function policiesMissing(
  { token_policies = [] }: Pick<TokenSettings, 'token_policies'>,
  exists: (name: string) => Promise<boolean>,
): Promise<string> {
  const missing: string[] = []
  for (const name of sanitize(token_policies, false))
    if (name !== 'root' && name !== 'default' && !(await exists(name))) missing.push(name)
  return missing.length === 0 ? '' : `token policies [${excerpt(missing.join(' '))}] do not exist`
}
