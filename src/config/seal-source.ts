import type { Config } from './settings.ts'

/** Where a server finds its seal key. `commands` wrap and unwrap it. */
export const sealSource = (config: Config) => ({
  text: config.sealKey,
  file: config.sealKeyFile,
  allowOpen: config.allowOpenKeyFile,
  commands:
    config.sealUnwrapCommand === undefined
      ? undefined
      : {
          wrap: config.sealWrapCommand,
          unwrap: config.sealUnwrapCommand,
          timeoutMs: config.sealCommandTimeoutMs,
        },
})
