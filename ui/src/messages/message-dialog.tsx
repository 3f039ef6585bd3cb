import { useState } from 'react'
import { Dialog } from 'react-aria-components/Dialog'
import { Heading } from 'react-aria-components/Heading'
import { Modal, ModalOverlay } from 'react-aria-components/Modal'
import { acknowledge, type ShownMessage } from '../api/messages.ts'
import { Button } from '../components/button.tsx'
import { Failure } from '../components/failure.tsx'
import { visible } from '../components/visible.ts'
import { strings } from '../strings.ts'
import { MessageBody } from './message-body.tsx'

type Props = {
  readonly message: ShownMessage
  /** Confirming it tells the server who has read it. */
  readonly acknowledges: boolean
  readonly onDone: (isAcknowledged: boolean) => void
}

export function MessageDialog({ message, acknowledges, onDone }: Props) {
  const [error, setError] = useState<unknown>()
  const confirm = async () => {
    // a server that cannot take an acknowledgement must not lock people out
    if (!acknowledges || error !== undefined) return onDone(false)
    try {
      await acknowledge({ params: { id: message.id } })
      onDone(true)
    } catch (refusal) {
      setError(refusal)
    }
  }
  const label = !acknowledges
    ? strings.messages.confirm
    : error === undefined
      ? strings.messages.read
      : strings.messages.goOn
  return (
    <ModalOverlay isOpen isKeyboardDismissDisabled className="overlay">
      <Modal className="modal">
        <Dialog role="alertdialog" className={`dialog ${message.severity}`}>
          <Heading slot="title">{visible(message.title)}</Heading>
          <MessageBody message={message} />
          <Failure error={error} />
          <div className="dialog-actions">
            <Button kind="primary" autoFocus onPress={confirm}>
              {label}
            </Button>
          </div>
        </Dialog>
      </Modal>
    </ModalOverlay>
  )
}
