import { lazy, Suspense } from 'react'
import type { Audience, ShownMessage } from '../api/messages.ts'
import { Button } from '../components/button.tsx'
import { visible } from '../components/visible.ts'
import { strings } from '../strings.ts'
import { useDismissals } from './dismissed.ts'
import { MessageBody } from './message-body.tsx'
import { useMessages } from './use-messages.ts'

const MessageDialog = lazy(async () => ({ default: (await import('./message-dialog.tsx')).MessageDialog }))

/** One banner, also in the preview of the editor. */
export const Banner = ({
  message,
  onClose,
}: {
  readonly message: ShownMessage
  readonly onClose?: (() => void) | undefined
}) => (
  <article className={`banner ${message.severity}`}>
    <div>
      <h2>
        <span className="hidden">{strings.messages.severity[message.severity]}: </span>
        {visible(message.title)}
      </h2>
      <MessageBody message={message} />
    </div>
    {message.dismissible && onClose !== undefined && (
      <Button kind="quiet" aria-label={strings.messages.dismiss(message.title)} onPress={onClose}>
        <span aria-hidden="true">✕</span>
      </Button>
    )}
  </article>
)

type Props = {
  readonly audience: Audience
  /** Tells people apart who share a browser. */
  readonly reader?: string
}

/** Banners above the page, and one dialog after another. A message to acknowledge blocks the page. */
export function Messages({ audience, reader = '' }: Props) {
  const { isDismissed, dismiss } = useDismissals(reader)
  const shown = useMessages(audience).filter((message) => !isDismissed(message))
  const isDialog = ({ type, mustAcknowledge }: ShownMessage) =>
    type === 'modal' || (mustAcknowledge && audience === 'authenticated')
  const [dialog] = shown.filter(isDialog)
  return (
    <>
      <section className="banners" aria-label={strings.messages.region} aria-live="polite">
        {shown
          .filter((message) => !isDialog(message))
          .map((message) => (
            <Banner key={message.id} message={message} onClose={() => dismiss(message, true)} />
          ))}
      </section>
      {dialog !== undefined && (
        <Suspense>
          <MessageDialog
            key={dialog.id}
            message={dialog}
            acknowledges={dialog.mustAcknowledge && audience === 'authenticated'}
            onDone={(isAcknowledged) =>
              dismiss(dialog, isAcknowledged || (dialog.dismissible && audience === 'authenticated'))
            }
          />
        </Suspense>
      )}
    </>
  )
}
