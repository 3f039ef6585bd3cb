import { z } from 'zod'
import { optional, type Setting, secret, setting } from './setting.ts'
import { flag, list, positive, text, timerDuration } from './values.ts'

const ceremonies = list.pipe(
  z.array(z.enum(['rekey', 'generate-root'], 'must be a list of rekey and generate-root')),
)

export const sealSettings = {
  seal: setting(
    z.enum(['static', 'shamir', 'command']),
    'SEAL',
    'static',
    'static: the server unseals itself with its seal key; command: with a key that a command unwraps; shamir: people unseal it with their shares',
  ),
  autoInit: setting(
    flag,
    'AUTO_INIT',
    'true',
    'false: a server that unseals itself waits for sys/init instead of creating its store',
  ),
  sealKeyFile: setting(
    text,
    'SEAL_KEY_FILE',
    'data/seal.key',
    'file with the seal key, 32 bytes as hex or base64',
  ),
  sealKey: secret(text, 'SEAL_KEY', 'the seal key itself, instead of a file'),
  sealPreviousKeyFile: optional(
    text,
    'SEAL_PREVIOUS_KEY_FILE',
    'file with the previous seal key, to change the seal key',
  ),
  sealWrapCommand: optional(
    text,
    'SEAL_WRAP_COMMAND',
    'shell command that wraps a seal key: reads it on standard input, writes the wrapped key',
  ),
  sealUnwrapCommand: optional(
    text,
    'SEAL_UNWRAP_COMMAND',
    'shell command that unwraps it: reads the wrapped key, writes the seal key',
  ),
  sealCommandTimeoutMs: setting(
    positive(timerDuration),
    'SEAL_COMMAND_TIMEOUT',
    '30s',
    'how long a seal command may take',
  ),
  allowOpenKeyFile: setting(
    flag,
    'ALLOW_OPEN_KEY_FILE',
    'false',
    'true: accept a seal key file that users other than its owner can read or change',
  ),
  openCeremonies: setting(
    ceremonies,
    'OPEN_CEREMONIES',
    '',
    'list of rekey and generate-root: served to callers without a token too',
  ),
  rootToken: secret(
    z.string().regex(/^[^\s.]+$/, 'must not contain spaces or dots'),
    'ROOT_TOKEN',
    'root token of npm run dev (default there: root); refused otherwise',
  ),
  rootTokenFile: optional(
    text,
    'ROOT_TOKEN_FILE',
    'file for the first root token (mode 0600), instead of standard output',
  ),
} satisfies Record<string, Setting>
