import { Dialog } from 'react-aria-components/Dialog'
import { Heading } from 'react-aria-components/Heading'
import { Modal, ModalOverlay } from 'react-aria-components/Modal'
import { Button } from '../components/button.tsx'
import { strings } from '../strings.ts'

const text = strings.unsaved

type Props = { readonly onStay: () => void; readonly onLeave: () => void }

export const LeaveDialog = ({ onStay, onLeave }: Props) => (
  <ModalOverlay isOpen className="overlay" onOpenChange={onStay}>
    <Modal className="modal">
      <Dialog role="alertdialog" className="dialog">
        <Heading slot="title">{text.question}</Heading>
        <p>{text.hint}</p>
        <div className="dialog-actions">
          <Button autoFocus onPress={onStay}>
            {text.stay}
          </Button>
          <Button kind="danger" onPress={onLeave}>
            {text.leave}
          </Button>
        </div>
      </Dialog>
    </Modal>
  </ModalOverlay>
)
