import type { View } from '../../../src/core/barrier/view.ts'
import type { IdentityTokensParts } from '../../../src/core/identity-tokens/identity-tokens.ts'

/** No mount uses a key. */
export function noMounts(root: View): IdentityTokensParts['keyMounts'] {
  const view = root.view('', { numbers: 'plain' })
  return {
    keyNames: () => [],
    checkUnused: () => {},
    checkSettings: async () => {},
    whileUnchanged: async (decide) => {
      const lost = new Error('another was quicker')
      for (;;) {
        try {
          return await decide(async (entries) => {
            if (!(await view.write(entries))) throw lost
          })
        } catch (error) {
          if (error !== lost) throw error
        }
      }
    },
  }
}
