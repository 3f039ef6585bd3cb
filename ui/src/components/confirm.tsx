import { type ReactNode, useState } from 'react'
import { Dialog, DialogTrigger } from 'react-aria-components/Dialog'
import { Heading } from 'react-aria-components/Heading'
import { Modal, ModalOverlay } from 'react-aria-components/Modal'
import { strings } from '../strings.ts'
import { announce } from './announce.tsx'
import { Button } from './button.tsx'
import { Failure } from './failure.tsx'
import { useAction } from './use-action.ts'
import { visible } from './visible.ts'

type Props = {
  /** The button that asks. */
  readonly label: string
  /** Names the object on that button, for people who do not see its row. */
  readonly of?: string
  /** Names the object: `Delete the message “Maintenance”?` */
  readonly question: string
  /** How much depends on the object. */
  readonly children?: ReactNode
  /** What it does, on the button that does it. */
  readonly action: string
  readonly onConfirmed: () => Promise<unknown>
}

/** A destructive action: a button, one question, and the server's own words if it fails. */
export function Confirm({ label, of, question, children, action, onConfirmed }: Props) {
  const [isOpen, setOpen] = useState(false)
  const [error, setError] = useState<unknown>()
  const name = of === undefined ? label : `${label} ${of}`
  const act = useAction(async () => {
    setError(undefined)
    try {
      await onConfirmed()
      setOpen(false)
      announce(strings.done(name))
    } catch (failure) {
      setError(failure)
    }
  })
  return (
    <DialogTrigger isOpen={isOpen} onOpenChange={setOpen}>
      <Button kind="danger" {...(of !== undefined && { 'aria-label': name })}>
        {label}
      </Button>
      <ModalOverlay className="overlay" isDismissable>
        <Modal className="modal">
          <Dialog role="alertdialog" className="dialog">
            <Heading slot="title">{visible(question)}</Heading>
            {children}
            <Failure error={error} />
            <div className="dialog-actions">
              <Button slot="close" autoFocus>
                {strings.cancel}
              </Button>
              <Button kind="danger" onPress={() => void act()}>
                {action}
              </Button>
            </div>
          </Dialog>
        </Modal>
      </ModalOverlay>
    </DialogTrigger>
  )
}
