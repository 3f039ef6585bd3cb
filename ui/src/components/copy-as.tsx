import { useState } from 'react'
import { Button as AriaButton } from 'react-aria-components/Button'
import { Dialog, DialogTrigger } from 'react-aria-components/Dialog'
import { type ApiRequest, curlOf, vaultOf } from '../api/request.ts'
import { useNamespace } from '../session/namespace.ts'
import { strings } from '../strings.ts'
import { Button } from './button.tsx'
import { PagePopover } from './page-popover.tsx'

export type NamedCommand = { readonly name: string; readonly text: string }

type CopyAsProps = { readonly requests: readonly ApiRequest[]; readonly commands?: readonly NamedCommand[] }

/** The calls of this view as commands. They name the token as a variable; it is never in them. */
export function CopyAs({ requests, commands = [] }: CopyAsProps) {
  const namespace = useNamespace()
  return (
    <DialogTrigger>
      <AriaButton className="button quiet">{strings.shell.copyAs}</AriaButton>
      <PagePopover placement="bottom end">
        <Dialog className="copy-as" aria-label={strings.shell.copyAs}>
          <p className="hint">{strings.shell.copyAsHint}</p>
          {commands.map((command) => (
            <Command key={command.name} {...command} />
          ))}
          {requests.map((request) => (
            <div key={`${request.method} ${request.path}`}>
              <Command name="curl" text={curlOf(request, namespace)} />
              <Command name="vault" text={vaultOf(request, namespace)} />
            </div>
          ))}
        </Dialog>
      </PagePopover>
    </DialogTrigger>
  )
}

/** A line for a terminal, with a button that copies it. */
export const Command = ({ name, text }: NamedCommand) => (
  <div className="command">
    <pre>
      <code>{text}</code>
    </pre>
    <CopyButton text={text} label={`${strings.copy} ${name}`} />
  </div>
)

/** Copies a text, and says so. */
export function CopyButton({
  text,
  label = strings.copy,
  of,
  onCopied,
}: {
  readonly text: string
  readonly label?: string
  /** Names what is copied where the label does not. */
  readonly of?: string
  readonly onCopied?: () => void
}) {
  const [isCopied, setCopied] = useState(false)
  const copy = async () => {
    await navigator.clipboard.writeText(text)
    setCopied(true)
    onCopied?.()
    setTimeout(() => setCopied(false), 2000)
  }
  return (
    <Button kind="quiet" onPress={() => void copy().catch(() => {})}>
      <span aria-live="polite">{isCopied ? strings.copied : label}</span>
      {of !== undefined && <span className="hidden"> {of}</span>}
    </Button>
  )
}
